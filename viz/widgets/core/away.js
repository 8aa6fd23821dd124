// No machine computes at present: a question stays, and is asked again from time to time, until one answers.

const PAUSES = [2000, 4000, 8000, 15_000, 30_000]; // milliseconds until the next time; the last one, from then on
const MOST = 24; // questions that stay; of one more, the fault is told

const staying = new Set();

/** One question's patience with machines that cannot be reached. */
export class Patience {
  constructor() {
    this.times = 0;
  }

  /** Whether that is all that an answer says, and the question may stay. */
  bears(answer) {
    if (answer?.word !== 'cluster_gone' || (staying.size >= MOST && !staying.has(this))) return false;
    staying.add(this);
    return true;
  }

  /** Until it is time to ask again; pages do not ask in step. */
  rest() {
    const pause = PAUSES[Math.min(this.times, PAUSES.length - 1)] * (0.75 + Math.random() / 2);
    this.times += 1;
    return new Promise((over) => setTimeout(over, pause));
  }

  end() {
    staying.delete(this);
  }
}
