// Calls to the server or, on a static page, to the engine in a worker. `server.NAME(values)` resolves to a JSON value;
// `server.stream(NAME, …)` passes each message to a handler until the response ends; a call that is not offered is
// undefined. Widgets receive `server` as an argument and work with either.

import { EngineTransport } from './engine-transport.js';
import { CallError, HttpTransport, readMessages } from './http-transport.js';

/**
 * @typedef {import('messages').Server} Server
 * @typedef {import('./http-transport.js').Fault} Fault
 *
 * @typedef {import('./http-transport.js').Transport} Transport
 *
 * @typedef {object} Mounted argument of a widget's `mount` function (`viz/server/widget.py`)
 * @property {HTMLElement} element
 * @property {Server} server
 * @property {{ value: string, config: string }} props
 * @property {(event: string, data: object) => void} trigger
 * @property {(name: string, listener: () => void) => void} watch
 */

/** @type {Transport} */
const transport = globalThis.headlightSite ? new EngineTransport(globalThis.headlightSite) : new HttpTransport();

/** Whether the page has a server. A saved page contains its data instead, and a static one an engine. */
export const hasServer = () => !globalThis.headlightData && !globalThis.headlightSite;

/** Whether the page can compute answers. A saved page shows one stored answer. */
export const computesAnswers = () => hasServer() || Boolean(globalThis.headlightSite);

/** Whether the server responds. The engine is always reachable. */
export const isReachable = () => transport.isReachable();

const stream = (name, values, handle, signal) => transport.stream(name, values, handle, signal);

/** @type {Server} */
export const server = new Proxy(/** @type {any} its methods are created on access */ ({ stream }), {
  get: (target, name) => target[name] ?? caller(String(name)),
});

/** `then` stays undefined, so that `await` does not treat `server` as a promise. */
function caller(name) {
  if (name === 'then' || !transport.offers(name)) return undefined;
  return (values, ticket, options) => transport.call(name, values, ticket, options);
}

export { CallError, readMessages };
