// Calls to the Hub: the size of a model, and its download. `hub.hear` gets the messages.

import { callLatest } from '../core/boot.js';
import { set } from '../core/state.js';

let connected;
const server = new Promise((done) => (connected = done));
let turn = 0;

export const hubClient = {
  hear: null, // gets each message of the last download that was asked for

  async downloadInfo(name) {
    return callLatest((await server).download_info, { name });
  },

  /** All models there are by now. */
  async models() {
    return callLatest((await server).models, {});
  },

  /** Whether models can be fetched at present; `again`: the visitor asks. */
  async look(again = false) {
    try {
      const { away } = await callLatest((await server).look, { again }, () => true);
      set({ hubAway: away });
    } catch {
      // What was known before is still as good as it was.
    }
  },

  async fetch(name) {
    turn += 1;
    (await server).trigger('submit', { request: JSON.stringify({ turn, name }) });
  },

  async stop() {
    (await server).trigger('stop', { turn });
  },

  /** Whatever still comes is of no interest. */
  forget() {
    turn += 1;
  },
};

// Other widgets ask for that before this one is mounted, too.
addEventListener('headlight-hub', (/** @type {CustomEvent} */ event) => hubClient.look(event.detail.again));

export function mount({ trigger, props, server: functions, watch }) {
  watch('value', () => {
    const message = props.value && JSON.parse(props.value);
    if (message && message.turn === turn) hubClient.hear?.(message);
  });
  connected({ ...functions, trigger });
}
