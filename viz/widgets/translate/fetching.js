// Calls to the Hub: the size of a model, and its download. `hub.hear` gets the messages.

import { call } from '../core/boot.js';

let connected;
const server = new Promise((done) => (connected = done));
let turn = 0;

export const hub = {
  hear: null, // gets each message of the last download that was asked for

  async offer(name) {
    return call((await server).offer, { name });
  },

  /** All models there are by now. */
  async models() {
    return call((await server).models, {});
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

export function mount({ trigger, props, server: functions, watch }) {
  watch('value', () => {
    const message = props.value && JSON.parse(props.value);
    if (message && message.turn === turn) hub.hear?.(message);
  });
  connected({ offer: functions.offer, models: functions.models, trigger });
}
