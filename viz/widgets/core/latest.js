// One question at a time: what the server answers after something else was asked for is passed over.

import { faultSays } from './words.js';

export class Latest {
  /** `waits` is dimmed meanwhile; in `error` a fault is said, by the phrase `otherwise` where it has none of its own. */
  constructor(waits, error, otherwise) {
    this.waits = waits;
    this.error = error;
    this.otherwise = otherwise;
    this.drop();
  }

  /** Nothing is asked for any more. */
  drop() {
    this.turn = (this.turn ?? 0) + 1;
    this.shown = '';
    this.waits.classList.remove('waits');
  }

  /** Ask for what `key` names, unless that is there or on its way; `draw` gets what comes. */
  async show(key, ask, draw) {
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
      this.error.textContent = faultSays(error, this.otherwise);
      if (!error.fault) console.warn(error);
    } finally {
      if (turn === this.turn) this.waits.classList.remove('waits');
    }
  }
}
