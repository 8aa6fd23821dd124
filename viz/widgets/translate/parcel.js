// An answer too large for a message waits at the server under a name.

import { call } from '../core/boot.js';

/** The message that waits, with the number of its request; else one that says why it did not come. */
export async function collect(server, { name, turn }) {
  try {
    return { ...(await call(server.collect, { name })), turn };
  } catch (error) {
    return { what: 'error', word: 'unreachable', ...error.fault, field: 'text', turn };
  }
}
