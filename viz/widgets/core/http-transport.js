// Calls to the page's server: `POST call/NAME` answers with JSON, `POST stream/NAME` with a stream of messages.

import { asset } from './boot.js';
import { hasPhrase } from './i18n.js';

/**
 * @typedef {{ word: string, values: Record<string, any> }} Fault key of a phrase, and its values
 *
 * @typedef {object} Transport
 * @property {(name: string) => boolean} offers
 * @property {(name: string, values: object, ticket?: string, options?: RequestInit) => Promise<any>} call `ticket`: the place in
 *   the queue of a call that has already waited; resolves to a JSON value or an error message
 * @property {(name: string, values: object, handle: (message: any) => void, signal?: AbortSignal) => Promise<void>} stream
 * @property {() => boolean | Promise<boolean>} isReachable
 */

const DATA_PREFIX = 'data: ';
const PING_TIMEOUT_MS = 10_000;
const session = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(36)).join('');

/** A failed response: `fault` selects the phrase, `status` is the HTTP status. */
export class CallError extends Error {
  /**
   * @param {number} status
   * @param {Fault} fault
   */
  constructor(status, fault) {
    super(fault.word);
    this.status = status;
    this.fault = fault;
  }
}

/** @implements {Transport} */
export class HttpTransport {
  /** The server offers every call. */
  offers() {
    return true;
  }

  /**
   * Returns the JSON value or an error message. `ticket`: the place in the queue of a call that has already waited.
   * @param {string} name
   * @param {object} values
   * @param {string} ticket
   * @param {RequestInit} options
   * @returns {import('messages').Reply<any>}
   */
  async call(name, values, ticket = '', options = {}) {
    try {
      const response = await post(`call/${name}`, { session, values, ticket }, options);
      if (response.ok) return await response.json();
      return { what: 'error', field: 'data', ...(await readFault(response)) };
    } catch (error) {
      if (options.signal?.aborted) throw error; // the caller has cancelled the request
      return { what: 'error', field: 'data', word: 'unreachable', values: {} };
    }
  }

  /** Passes each message to `handle`. Rejects with a `CallError` on an HTTP error, and if the connection breaks. */
  async stream(name, values, handle, signal) {
    const response = await post(`stream/${name}`, { session, values }, { signal });
    if (!response.ok) throw new CallError(response.status, await readFault(response));
    await readMessages(response, handle);
  }

  /** Whether the server responds. */
  async isReachable() {
    try {
      const signal = AbortSignal.timeout(PING_TIMEOUT_MS);
      return (await fetch(await asset('alive.json'), { cache: 'no-store', signal })).ok;
    } catch {
      return false;
    }
  }
}

function post(path, body, options) {
  const headers = { 'content-type': 'application/json' };
  return fetch(new URL(`../../${path}`, import.meta.url), { method: 'POST', headers, body: JSON.stringify(body), ...options });
}

/**
 * Phrase and values of a failed response from the server or from a proxy.
 * @param {Response} response
 * @returns {Promise<Fault>}
 */
async function readFault(response) {
  try {
    const { word, values } = await response.json();
    if (hasPhrase(`error_${word}`)) return { word, values };
  } catch {
    // The body is not JSON: an error page of a proxy, or empty.
  }
  return { word: 'unreachable', values: {} };
}

/** Reads all messages of a response, one JSON object per line. Errors of the handler do not stop the stream. */
export async function readMessages(response, handle) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let chunks = []; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const [first, ...lines] = value.split('\n'); // large messages arrive in several chunks
    chunks.push(first);
    for (const line of lines) {
      const message = chunks.join('');
      chunks = [line];
      if (message.startsWith(DATA_PREFIX)) deliver(JSON.parse(message.slice(DATA_PREFIX.length)), handle);
    }
  }
}

function deliver(message, handle) {
  try {
    handle(message);
  } catch (error) {
    reportError(error);
  }
}
