// Fetches answers that are too large to stream.

import { callLatest } from '../core/boot.js';

/** The deferred answer with its request number, or an error message. Retries once if the connection is lost. */
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
