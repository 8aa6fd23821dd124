// Fetches answers that are too large to stream.

import { callLatest } from '../core/boot.js';

/** The message that waits, asked for once more where the connection is lost on the way, with the number of its request; else one that says why it did not come. */
export async function fetchDeferred(server, { name, turn }) {
  for (let again = false; ; again = true) {
    try {
      return { ...(await callLatest(server.fetch_deferred, { name })), turn };
    } catch (error) {
      const fault = { what: 'error', word: 'unreachable', ...error.fault, field: 'text', turn };
      if (again || fault.word !== 'unreachable') return fault;
    }
  }
}
