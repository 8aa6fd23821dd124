// A measurement in batches, which can be stopped: the losses without heads, the shares of patches.

import { state } from '../core/state.js';
import { faultText } from '../core/i18n.js';

export const MAX_SECONDS = 60; // before the measurement stops

/** Measures in batches until all are done, it is stopped, or it times out. */
export class Measurement {
  /** `ask(first)` returns the next entries, [key, value], and their number; `changed()` is called after each batch and at the end. */
  constructor(ask, changed) {
    this.ask = ask;
    this.changed = changed;
    this.turn = 0;
    this.reset();
  }

  reset() {
    this.turn += 1;
    /** @type {Map<string, any>} */
    this.results = new Map();
    this.all = 0; // number of measurements, once the server has reported it
    [this.running, this.late, this.fault] = [false, false, ''];
  }

  get isComplete() {
    return this.all > 0 && this.results.size >= this.all;
  }

  stop() {
    this.turn += 1;
    this.running = false;
    this.changed();
  }

  /** Stops when another tab is opened. */
  async start() {
    const turn = ++this.turn;
    const startTime = performance.now();
    [this.running, this.late, this.fault] = [true, false, ''];
    this.changed();
    try {
      while (turn === this.turn && !this.isComplete) {
        const answer = await this.ask(this.results.size);
        if (turn !== this.turn) return;
        this.all = answer.all;
        for (const [key, value] of answer.entries) this.results.set(key, value);
        this.late = performance.now() - startTime > 1000 * MAX_SECONDS && !this.isComplete;
        if (this.late || state.tab !== 'whatif') break;
        this.changed();
      }
    } catch (error) {
      if (turn === this.turn) this.fault = faultText(error);
    }
    if (turn !== this.turn) return;
    this.running = false;
    this.changed();
  }
}
