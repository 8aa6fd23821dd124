// Keeps only the latest request; stale answers are ignored.

import { faultOf } from './boot.js';
import { faultText } from './i18n.js';

export class LatestRequest {
  /** `waits` is dimmed while loading; errors appear in `error`, with the phrase `otherwise` as the default. */
  constructor(waits, error, otherwise) {
    this.waits = waits;
    this.error = error;
    this.otherwise = otherwise;
    this.cancel();
  }

  /** Discards the pending request. */
  cancel() {
    this.turn = (this.turn ?? 0) + 1;
    this.shown = '';
    this.waits.classList.remove('waits');
  }

  /** Request `key` unless it is loaded or pending; `draw` renders the response. */
  async load(key, ask, draw) {
    if (key === this.shown) return;
    this.shown = key;
    const turn = ++this.turn;
    this.waits.classList.add('waits');
    try {
      const answer = await ask();
      if (turn !== this.turn) return;
      this.error.textContent = '';
      draw(answer);
    } catch (error) {
      if (turn !== this.turn) return;
      this.shown = '';
      this.error.textContent = faultText(error, this.otherwise);
      if (!faultOf(error)) console.warn(error);
    } finally {
      if (turn === this.turn) this.waits.classList.remove('waits');
    }
  }
}
