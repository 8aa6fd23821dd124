// Pauses Live after several slow answers in a row, and resumes it later.

const SLOW = 0.15; // answers slower than this (in seconds of model time) are slow
const IN_A_ROW = 3; // slow answers before a pause; fewer may be noise
const FIRST_REST = 15_000; // milliseconds; doubles with each consecutive pause
const LONGEST_REST = 240_000;

export class Pace {
  /** `over()` is called when a pause ends. */
  constructor(over) {
    this.over = over;
    this.slow = new Map(); // model → number of consecutive slow answers
    this.rests = new Map(); // model → timer of its pause
    this.lengths = new Map(); // model → milliseconds of its next pause
  }

  /** Record the model time of an answer. A fast answer ends the pause. */
  measure(name, seconds) {
    if (seconds <= SLOW) {
      this.end(name);
      this.slow.delete(name);
      this.lengths.delete(name);
      return;
    }
    this.slow.set(name, (this.slow.get(name) ?? 0) + 1);
    if (this.slow.get(name) < IN_A_ROW || this.isResting(name)) return;
    const length = this.lengths.get(name) ?? FIRST_REST;
    this.lengths.set(name, Math.min(LONGEST_REST, 2 * length));
    this.rests.set(
      name,
      setTimeout(() => {
        this.end(name);
        this.over();
      }, length),
    );
  }

  end(name) {
    clearTimeout(this.rests.get(name));
    this.rests.delete(name);
  }

  isResting(name) {
    return this.rests.has(name);
  }
}
