// Calls of the server that serves the page. `server.NAME(values)` resolves to a JSON value, `server.stream(NAME, …)`
// passes messages on until the response ends. Widgets get `server` as an argument, so another one can stand in.

import { hasPhrase } from './i18n.js';

/**
 * @typedef {import('messages').Server} Server
 * @typedef {{ word: string, values: Record<string, any> }} Fault key of a phrase, and its values
 *
 * @typedef {object} Mounted what the `mount` function of a widget gets (`viz/server/widget.py`)
 * @property {HTMLElement} element
 * @property {Server} server
 * @property {{ value: string, config: string }} props
 * @property {(event: string, data: object) => void} trigger
 * @property {(name: string, listener: () => void) => void} watch
 */

const DATA_PREFIX = 'data: ';
const session = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(36)).join('');

/** Whether a server is behind this page; a saved page has none. */
export const hasServer = () => Boolean(globalThis.gradio_config);

/** A failed response; `fault` has the phrase, `status` is that of HTTP. */
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
export const server = new Proxy(/** @type {any} its calls are made when they are read */ ({ stream }), {
  get: (own, name) => own[name] ?? caller(String(name)),
});

/** A promise that resolves to `server` looks for `then`. */
const caller = (name) => (name === 'then' ? undefined : (values, ticket, options) => call(name, values, ticket, options));

/**
 * The JSON value, or an error message. `ticket` names our place in the queue if the call has waited before.
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
    return { what: 'error', field: 'data', ...(await faultOf(response)) };
  } catch (error) {
    if (options.signal?.aborted) throw error; // the caller has no use for an answer any more
    return { what: 'error', field: 'data', word: 'unreachable', values: {} };
  }
}

/** Pass each message to `hear`. Rejects with a `CallError` if the server refuses, and if the connection breaks. */
async function stream(name, values, hear, signal) {
  const response = await post(`stream/${name}`, { session, values }, { signal });
  if (!response.ok) throw new CallError(response.status, await faultOf(response));
  await readMessages(response, hear);
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
async function faultOf(response) {
  try {
    const { word, values } = await response.json();
    if (hasPhrase(`error_${word}`)) return { word, values };
  } catch {
    // The body is not JSON: an error page of a proxy, or empty.
  }
  return { word: 'unreachable', values: {} };
}

/** Read all messages of a response, one JSON object per line. Handler errors do not stop the stream. */
export async function readMessages(response, hear) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let held = []; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const [rest, ...lines] = value.split('\n'); // large messages arrive in several chunks
    held.push(rest);
    for (const line of lines) {
      const message = held.join('');
      held = [line];
      if (message.startsWith(DATA_PREFIX)) parseMessage(JSON.parse(message.slice(DATA_PREFIX.length)), hear);
    }
  }
}

function parseMessage(message, hear) {
  try {
    hear(message);
  } catch (error) {
    reportError(error);
  }
}
