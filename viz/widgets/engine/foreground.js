// Calls that a visitor waits for. Others, such as reading back, wait at their next pause while one runs.

export class Foreground {
  constructor() {
    this.count = 0;
    /** @type {(() => void)[]} calls that wait */
    this.waiting = [];
  }

  /** Runs a call that others wait for. @template T @param {() => Promise<T>} call @returns {Promise<T>} */
  async run(call) {
    this.count++;
    try {
      return await call();
    } finally {
      this.count--;
      if (!this.count) for (const resume of this.waiting.splice(0)) resume();
    }
  }

  /** Waits while calls run. */
  async wait() {
    while (this.count) await new Promise((resolve) => this.waiting.push(() => resolve(undefined)));
  }
}
