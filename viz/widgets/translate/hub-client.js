// Calls to the Hub: model sizes and downloads. `hub.hear` receives the messages.

import { callLatest } from '../core/boot.js';
import { set } from '../core/state.js';

let connected;
const server = new Promise((done) => (connected = done));
let turn = 0;

export const hubClient = {
  hear: null, // callback for messages of the latest download

  async downloadInfo(name) {
    return callLatest((await server).download_info, { name });
  },

  /** All models currently installed. */
  async models() {
    return callLatest((await server).models, {});
  },

  /** Check whether the Hub can be reached; `again`: the visitor requested it. */
  async look(again = false) {
    try {
      const { away } = await callLatest((await server).look, { again }, () => true);
      set({ hubAway: away });
    } catch {
      // Keep the previous state.
    }
  },

  async fetch(name) {
    turn += 1;
    (await server).trigger('submit', { request: JSON.stringify({ turn, name }) });
  },

  async stop() {
    (await server).trigger('stop', { turn });
  },

  /** Ignore further messages. */
  forget() {
    turn += 1;
  },
};

// Other widgets may request this before this one is mounted.
addEventListener('headlight-hub', (/** @type {CustomEvent} */ event) => hubClient.look(event.detail.again));

export function mount({ trigger, props, server: functions, watch }) {
  watch('value', () => {
    const message = props.value && JSON.parse(props.value);
    if (message && message.turn === turn) hubClient.hear?.(message);
  });
  connected({ ...functions, trigger });
}
