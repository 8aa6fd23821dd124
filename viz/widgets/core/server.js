// Client of the page's server. `server.NAME(values)` resolves to a JSON value; `server.stream(NAME, …)` passes each
// message to a handler until the response ends. Widgets receive `server` as an argument, so that it can be replaced.

import { hasPhrase } from './i18n.js';

/**
 * @typedef {import('messages').Server} Server
 * @typedef {{ word: string, values: Record<string, any> }} Fault key of a phrase, and its values
 *
 * @typedef {object} Mounted argument of a widget's `mount` function (`viz/server/widget.py`)
 * @property {HTMLElement} element
 * @property {Server} server
 * @property {{ value: string, config: string }} props
 * @property {(event: string, data: object) => void} trigger
 * @property {(name: string, listener: () => void) => void} watch
 */

const DATA_PREFIX = 'data: ';
const session = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(36)).join('');

/** Whether the page has a server. A saved page contains its data instead. */
export const hasServer = () => !globalThis.headlightData;

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

/** @type {Server} */
export const server = new Proxy(/** @type {any} its methods are created on access */ ({ stream }), {
  get: (target, name) => target[name] ?? caller(String(name)),
});

/** `then` stays undefined, so that `await` does not treat `server` as a promise. */
const caller = (name) => (name === 'then' ? undefined : (values, ticket, options) => call(name, values, ticket, options));

/**
 * Returns the JSON value or an error message. `ticket`: the place in the queue of a call that has already waited.
 * @param {string} name
 * @param {object} values
 * @param {string} ticket
 * @param {RequestInit} options
 * @returns {import('messages').Reply<any>}
 */
async function call(name, values, ticket = '', options = {}) {
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
async function stream(name, values, handle, signal) {
  const response = await post(`stream/${name}`, { session, values }, { signal });
  if (!response.ok) throw new CallError(response.status, await readFault(response));
  await readMessages(response, handle);
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
    const [rest, ...lines] = value.split('\n'); // large messages arrive in several chunks
    chunks.push(rest);
    for (const line of lines) {
      const message = chunks.join('');
      chunks = [line];
      if (message.startsWith(DATA_PREFIX)) parseMessage(JSON.parse(message.slice(DATA_PREFIX.length)), handle);
    }
  }
}

function parseMessage(message, handle) {
  try {
    handle(message);
  } catch (error) {
    reportError(error);
  }
}
