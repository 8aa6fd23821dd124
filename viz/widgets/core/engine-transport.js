// Transport of a static page: the engine runs calls in a web worker. Answers that need no sentence are loaded from files.

import { queueStatus } from './boot.js';
import { decompress } from './decompress.js';
import { findStoredAnswer, findStoredUrl } from './stored-answers.js';

/**
 * @typedef {import('./http-transport.js').Transport} Transport
 * @typedef {{ script: string, calls: string[], stored: Record<string, Record<string, string>>, models: Record<string, any> }} Site
 *   `script`: URL of the engine; `calls`: names of the calls that it runs; `stored`: URLs of stored answers by call and model
 * @typedef {{ handle: (message: any) => void, resolve: (value: any) => void }} Pending
 */

const INTERNAL_ERROR = { what: 'error', field: 'text', word: 'our_fault', values: {} };

/** @implements {Transport} */
export class EngineTransport {
  /** @param {Site} site */
  constructor(site) {
    this.site = site;
    /** @type {Map<number, Pending>} running calls and streams by number */
    this.pending = new Map();
    this.number = 0;
    /** @type {Worker | null} created by the first call; not every visit makes one */
    this.worker = null;
  }

  offers(name) {
    return this.site.calls.includes(name) || name in this.site.stored;
  }

  /** A worker needs no network once its files are loaded. */
  isReachable() {
    return true;
  }

  /**
   * @param {string} name
   * @param {any} values
   * @param {string} _ticket there is no queue
   * @param {RequestInit} options
   */
  async call(name, values, _ticket = '', options = {}) {
    if (name in this.site.stored) return this.loadStored(name, values, options);
    return this.send(name, values, () => {}, options.signal ?? undefined);
  }

  /** Passes each message to `handle`. A newer request stops it through `signal`. */
  async stream(name, values, handle, signal) {
    const result = await this.send(name, values, handle, signal);
    if (result?.what === 'error') handle({ ...result, turn: values.turn });
  }

  /** Resolves to the result of a call in the worker, or to its error message. */
  send(name, values, handle, signal) {
    const number = ++this.number;
    const worker = this.ensureWorker();
    return new Promise((resolve, reject) => {
      this.pending.set(number, { handle, resolve });
      signal?.addEventListener('abort', () => {
        worker.postMessage({ stop: number });
        this.pending.delete(number);
        reject(signal.reason);
      });
      worker.postMessage({ number, name, values });
    });
  }

  ensureWorker() {
    if (this.worker) return this.worker;
    this.worker = new Worker(new URL(this.site.script, document.baseURI), { type: 'module' });
    this.worker.addEventListener('message', ({ data }) => this.onMessage(data));
    this.worker.addEventListener('error', (event) => {
      event.preventDefault();
      console.warn(event.message);
      for (const { resolve } of this.pending.values()) resolve(INTERNAL_ERROR);
      this.pending.clear();
      this.worker = null; // the next call creates a new worker
    });
    const { models, limits, standalone } = /** @type {any} */ (this.site);
    this.worker.postMessage({ site: { models, limits, standalone, base: document.baseURI } });
    return this.worker;
  }

  onMessage({ number, message, result, loading }) {
    if (loading) {
      queueStatus.setLoading(loading.name, loading.done < loading.total ? loading : null);
      return;
    }
    const pending = this.pending.get(number);
    if (!pending) return;
    if (message) pending.handle(message);
    else {
      this.pending.delete(number);
      pending.resolve(result);
    }
  }

  async loadStored(name, values, /** @type {RequestInit} */ { signal }) {
    const url = findStoredUrl(this.site.stored[name], values);
    try {
      const response = await fetch(new URL(url, document.baseURI), { signal });
      if (response.ok) {
        const content = new TextDecoder().decode(await decompress(await response.arrayBuffer()));
        return findStoredAnswer(name, values, JSON.parse(content), this.site.models);
      }
    } catch (error) {
      if (signal?.aborted) throw error;
    }
    return { what: 'error', field: 'data', word: 'unreachable', values: {} };
  }
}
