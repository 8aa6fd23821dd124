// Fetches answers that are too large to stream.

import { callWithRetry, getFault } from '../core/boot.js';

/**
 * Returns the answer with its request number, or an error message. Retries once if the connection is lost.
 * @param {import('../core/server.js').Server} server
 * @param {import('messages').ParcelMessage} parcel
 * @returns {Promise<import('messages').Answer | import('messages').ErrorMessage>}
 */
export async function fetchDeferred(server, { name, turn }) {
  for (let isRetry = false; ; isRetry = true) {
    try {
      return { ...(await callWithRetry(server.fetch_deferred, { name })), turn };
    } catch (error) {
      const { word = 'unreachable', values = {} } = getFault(error) ?? {};
      if (isRetry || word !== 'unreachable') return { what: 'error', word, values, field: 'text', turn };
    }
  }
}
