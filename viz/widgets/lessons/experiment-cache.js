// Answers of experiments: asked for once, one at a time, and of those that wait only the newest.

const KEPT = 60; // answers

export class ExperimentCache {
  /** `ask(values)`: the server's answer to `{ request, lesson, step, set }`. */
  constructor(ask) {
    this.ask = ask;
    this.kept = new Map();
    this.runs = false;
    this.waiting = null;
  }

  key(translation, lesson, step, set) {
    return JSON.stringify([lesson, step, set, translation.requestValues(), translation.target.map(({ id }) => id)]);
  }

  find(...about) {
    return this.kept.get(this.key(...about)) ?? null;
  }

  /** The result, or null if a newer request replaced this one. */
  async fetch(translation, lesson, step, set) {
    const key = this.key(translation, lesson, step, set);
    if (this.runs) {
      this.waiting?.(false);
      const first = await new Promise((go) => {
        this.waiting = go;
      });
      if (!first) return null;
    }
    if (this.kept.has(key)) {
      this.runNext(); // it came while this one waited
      return this.kept.get(key);
    }
    this.runs = true;
    try {
      const answer = await this.ask({ request: translation.requestValues(), lesson, step, set });
      this.kept.set(key, answer);
      for (const old of [...this.kept.keys()].slice(0, -KEPT)) this.kept.delete(old);
      return answer;
    } finally {
      this.runs = false;
      this.runNext();
    }
  }

  runNext() {
    const next = this.waiting;
    this.waiting = null;
    next?.(true);
  }
}
