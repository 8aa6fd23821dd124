// Whether a model is quick enough for Live: after several slow answers in a row Live rests, and tries again by itself.

const SLOW = 0.15; // seconds of a model's own time from which on an answer is slow
const IN_A_ROW = 3; // slow answers until Live rests: fewer may be the machine's fault
const FIRST_REST = 15_000; // milliseconds; each rest in a row is twice as long as the one before
const LONGEST_REST = 240_000;

export class Pace {
  /** `over()`: a rest is over. */
  constructor(over) {
    this.over = over;
    this.slow = new Map(); // model → its slow answers in a row
    this.rests = new Map(); // model → the timer of its rest
    this.lengths = new Map(); // model → milliseconds of its next rest
  }

  /** A model's own time for an answer. One quick answer ends a rest. */
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
