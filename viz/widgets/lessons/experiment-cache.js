// Cache of experiment results. Requests run one at a time; a new request replaces the queued one.

const MAX_RESULTS = 60; // least recently loaded results are deleted

export class ExperimentCache {
  /** `request(values)`: the server call for `{ request, lesson, step, set }`. */
  constructor(request) {
    this.request = request;
    this.cache = new Map();
    this.isRunning = false;
    this.resolveQueued = null; // resolves the queued request to whether it may run
  }

  key(translation, lesson, step, set) {
    return JSON.stringify([lesson, step, set, translation.requestValues(), translation.target.map(({ id }) => id)]);
  }

  find(...keys) {
    return this.cache.get(this.key(...keys)) ?? null;
  }

  /** Return the result, or null if a newer request replaced this one. */
  async fetch(translation, lesson, step, set) {
    const key = this.key(translation, lesson, step, set);
    if (this.isRunning) {
      this.resolveQueued?.(false);
      const isNext = await new Promise((resolve) => {
        this.resolveQueued = resolve;
      });
      if (!isNext) return null;
    }
    if (this.cache.has(key)) {
      this.runNext(); // the previous request has loaded the result
      return this.cache.get(key);
    }
    this.isRunning = true;
    try {
      const answer = await this.request({ request: translation.requestValues(), lesson, step, set });
      this.cache.set(key, answer);
      for (const oldKey of [...this.cache.keys()].slice(0, -MAX_RESULTS)) this.cache.delete(oldKey);
      return answer;
    } finally {
      this.isRunning = false;
      this.runNext();
    }
  }

  runNext() {
    const resolve = this.resolveQueued;
    this.resolveQueued = null;
    resolve?.(true);
  }
}
