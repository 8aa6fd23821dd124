// Keeps only the latest request. Aborts earlier requests, and the pending one if the visitor leaves its tab.

import { getFault } from './boot.js';
import { faultText } from './i18n.js';
import { on, state } from './state.js';

export class LatestRequest {
  /** `element`: dimmed while loading; `error`: element for errors; `fallback`: phrase key for unknown errors. */
  constructor(element, error, fallback) {
    this.element = element;
    this.error = error;
    this.fallback = fallback;
    /** @type {AbortController | null} */
    this.pending = null;
    this.cancel();
    this.tab = ''; // tab of the pending request
    on(['tab'], () => this.pending && this.tab !== state.tab && this.cancel());
  }

  /** Aborts the pending request. */
  cancel() {
    this.generation = (this.generation ?? 0) + 1;
    this.pending?.abort();
    this.pending = null;
    this.shownKey = '';
    this.element.classList.remove('loading');
  }

  /** Requests `key` unless it is loaded or pending: `sendRequest(signal)` sends the request, `draw` renders the response. */
  async load(key, sendRequest, draw) {
    if (key === this.shownKey) return;
    this.pending?.abort();
    this.shownKey = key;
    const generation = ++this.generation;
    const pending = new AbortController();
    Object.assign(this, { pending, tab: state.tab });
    this.element.classList.add('loading');
    try {
      const answer = await sendRequest(pending.signal);
      if (generation !== this.generation) return;
      this.error.textContent = '';
      draw(answer);
    } catch (error) {
      if (generation !== this.generation) return;
      this.shownKey = '';
      this.error.textContent = faultText(error, this.fallback);
      if (!getFault(error)) console.warn(error);
    } finally {
      if (generation === this.generation) {
        this.pending = null;
        this.element.classList.remove('loading');
      }
    }
  }
}
