// No machine computes at present, or too many requests wait: a question stays, and is asked again from time to time, until one answers.

const RETRY_DELAYS_MS = [2000, 4000, 8000, 15_000, 30_000]; // retry delays in milliseconds; the last one repeats
const MAX_RETRYING = 24; // maximum number of retrying requests; further ones report the error
const POLL_WANTED_MS = 250; // milliseconds between two checks whether an answer is still wanted
const BUSY = new Set(['line_full', 'cluster_busy', 'training_full']);

const retrying = new Set();

/** Whether a server that computes has refused an answer, because too many wait. */
export const isBusy = (answer) => answer?.what === 'error' && BUSY.has(answer.word);

/** One question's patience with machines that cannot be reached, or are busy. */
export class Retry {
  constructor() {
    this.times = 0;
  }

  /** Whether the error is "cluster unreachable" and the request may be retried. */
  shouldRetry(answer) {
    if ((answer?.word !== 'cluster_gone' && !isBusy(answer)) || (retrying.size >= MAX_RETRYING && !retrying.has(this))) return false;
    retrying.add(this);
    return true;
  }

  /** Milliseconds until it is time to ask again: longer each time, and never sooner than a busy server says. Pages do not ask in step. */
  pause(answer) {
    const pause = RETRY_DELAYS_MS[Math.min(this.times, RETRY_DELAYS_MS.length - 1)];
    this.times += 1;
    if (!isBusy(answer)) return pause * (0.75 + Math.random() / 2);
    return Math.max(pause, 1000 * (answer.values?.seconds ?? 0)) * (1 + Math.random() / 2);
  }

  finish() {
    retrying.delete(this);
  }
}

/** Wait this many milliseconds, or until `wanted()` is false. */
export async function rest(pause, wanted = null) {
  const nap = wanted ? POLL_WANTED_MS : pause;
  for (let left = pause; left > 0 && (!wanted || wanted()); left -= nap) {
    await new Promise((over) => setTimeout(over, Math.min(nap, left)));
  }
}
