// Measurements that run in batches and can be stopped, such as losses without heads or shares of patches.

import { state } from '../core/state.js';
import { faultText } from '../core/i18n.js';

export const MAX_SECONDS = 60; // after which a measurement stops

/** Requests batches until all values are measured, it is stopped, or it times out. */
export class Measurement {
  /**
   * `measureBatch(first)` resolves to {all, entries}: the total number of values, and the entries [key, value] of a batch;
   * `first`: number of measured values. `onChange()` is called after each batch and at the end.
   */
  constructor(measureBatch, onChange) {
    this.measureBatch = measureBatch;
    this.onChange = onChange;
    this.generation = 0; // incremented to discard responses of older requests
    this.reset();
  }

  reset() {
    this.generation += 1;
    /** @type {Map<string, any>} */
    this.results = new Map();
    this.valueCount = 0; // 0 until the server reports it
    [this.running, this.hasTimedOut, this.fault] = [false, false, ''];
  }

  get isComplete() {
    return this.valueCount > 0 && this.results.size >= this.valueCount;
  }

  stop() {
    this.generation += 1;
    this.running = false;
    this.onChange();
  }

  /** Requests the missing batches. Stops if another tab is opened. */
  async start() {
    const generation = ++this.generation;
    const startTime = performance.now();
    [this.running, this.hasTimedOut, this.fault] = [true, false, ''];
    this.onChange();
    try {
      while (generation === this.generation && !this.isComplete) {
        const answer = await this.measureBatch(this.results.size);
        if (generation !== this.generation) return;
        this.valueCount = answer.all;
        for (const [key, value] of answer.entries) this.results.set(key, value);
        this.hasTimedOut = performance.now() - startTime > 1000 * MAX_SECONDS && !this.isComplete;
        if (this.hasTimedOut || state.tab !== 'whatif') break;
        this.onChange();
      }
    } catch (error) {
      if (generation === this.generation) this.fault = faultText(error);
    }
    if (generation !== this.generation) return;
    this.running = false;
    this.onChange();
  }
}
