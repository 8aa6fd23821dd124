// Pauses Live after several slow answers in a row, and resumes it later.

const SLOW_SECONDS = 0.15; // model time above which an answer is slow
const MIN_SLOW_ANSWERS = 3; // slow answers before a pause; fewer may be noise
const FIRST_PAUSE_MS = 15_000; // doubles with each consecutive pause
const MAX_PAUSE_MS = 240_000;

export class Pace {
  /** `onResume()` is called when a pause ends. */
  constructor(onResume) {
    this.onResume = onResume;
    this.slowCounts = new Map(); // model → number of consecutive slow answers
    this.timers = new Map(); // model → timer of its pause
    this.pauses = new Map(); // model → milliseconds of its next pause
  }

  /** Record the model time of an answer. A fast answer ends the pause. */
  measure(name, seconds) {
    if (seconds <= SLOW_SECONDS) {
      this.end(name);
      this.slowCounts.delete(name);
      this.pauses.delete(name);
      return;
    }
    this.slowCounts.set(name, (this.slowCounts.get(name) ?? 0) + 1);
    if (this.slowCounts.get(name) < MIN_SLOW_ANSWERS || this.isPaused(name)) return;
    const delay = this.pauses.get(name) ?? FIRST_PAUSE_MS;
    this.pauses.set(name, Math.min(MAX_PAUSE_MS, 2 * delay));
    this.timers.set(
      name,
      setTimeout(() => {
        this.end(name);
        this.onResume();
      }, delay),
    );
  }

  end(name) {
    clearTimeout(this.timers.get(name));
    this.timers.delete(name);
  }

  isPaused(name) {
    return this.timers.has(name);
  }
}
