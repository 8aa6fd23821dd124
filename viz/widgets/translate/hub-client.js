// Calls to the Hub: model sizes and downloads. `hubClient.hear` receives the messages.

import { callLatest } from '../core/boot.js';
import { CallError } from '../core/server.js';
import { set } from '../core/state.js';

/** @type {(server: import('../core/server.js').Server) => void} */
let connected = () => {};
/** @type {Promise<import('../core/server.js').Server>} */
const server = new Promise((done) => (connected = done));
let running = new AbortController(); // aborts the latest download

/** Set the server. Calls before that wait for it. */
export const connectHub = (hubServer) => connected(hubServer);

export const hubClient = {
  /** @type {(message: import('messages').DownloadMessage) => void} handler for messages of the latest download */
  hear: () => {},

  async downloadInfo(name) {
    return callLatest((await server).download_info, { name });
  },

  /** All models currently installed. */
  async models() {
    return callLatest((await server).list_models, {});
  },

  /** Check whether the Hub can be reached; `again`: the visitor requested it. */
  async look(again = false) {
    try {
      const status = await callLatest((await server).check_hub, { again }, () => true);
      if (status) set({ hubAway: status.away });
    } catch {
      // Keep the previous state.
    }
  },

  async fetch(name) {
    hubClient.stop();
    const { signal } = running;
    /** @param {import('messages').DownloadMessage} message */
    const hear = (message) => signal.aborted || hubClient.hear(message);
    try {
      await (await server).stream('fetch_model', { name }, hear, signal);
    } catch (error) {
      if (error instanceof CallError) hear({ ...error.fault, what: 'error', field: 'model' }); // else the watchdog reports it
    }
  },

  /** Stop the download and ignore further messages; the server keeps partial files. */
  stop() {
    running.abort();
    running = new AbortController();
  },
};

addEventListener('headlight-hub', (event) => hubClient.look(event.detail.again));
