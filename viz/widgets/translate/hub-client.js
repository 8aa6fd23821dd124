// Calls to the Hub: model sizes and downloads. `hubClient.onMessage` receives the messages.

import { callWithRetry } from '../core/boot.js';
import { CallError } from '../core/server.js';
import { set } from '../core/state.js';

/** @type {(server: import('../core/server.js').Server) => void} */
let resolveServer = () => {};
/** @type {Promise<import('../core/server.js').Server>} */
const server = new Promise((done) => (resolveServer = done));
let running = new AbortController(); // aborts the latest download

/** Sets the server. Earlier calls wait for it. */
export const connectHub = (hubServer) => resolveServer(hubServer);

export const hubClient = {
  /** @type {(message: import('messages').DownloadMessage) => void} handler for messages of the latest download */
  onMessage: () => {},

  async downloadInfo(name) {
    return callWithRetry((await server).download_info, { name });
  },

  /** All models currently installed. */
  async models() {
    return callWithRetry((await server).list_models, {});
  },

  /** Check whether the Hub can be reached; `again`: the visitor requested it. */
  async checkStatus(again = false) {
    const { check_hub: check } = await server;
    if (!check) return; // a page without a server offers no downloads
    try {
      const status = await callWithRetry(check, { again }, () => true);
      if (status) set({ hubAway: status.away });
    } catch {
      // Keep the previous state.
    }
  },

  async fetch(name) {
    hubClient.stop();
    const { signal } = running;
    /** @param {import('messages').DownloadMessage} message */
    const handle = (message) => signal.aborted || hubClient.onMessage(message);
    try {
      await (await server).stream('fetch_model', { name }, handle, signal);
    } catch (error) {
      if (error instanceof CallError) handle({ ...error.fault, what: 'error', field: 'model' }); // else the watchdog reports it
    }
  },

  /** Stop the download and ignore further messages; the server keeps partial files. */
  stop() {
    running.abort();
    running = new AbortController();
  },
};

addEventListener('headlight-hub', (event) => hubClient.checkStatus(event.detail.again));
