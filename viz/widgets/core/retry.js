// Retries requests with back-off while the cluster is unreachable or the server is busy.

import { isMessage } from './messages.js';

/** @typedef {import('messages').ErrorMessage} ErrorMessage */

const RETRY_DELAYS_MS = [2000, 4000, 8000, 15_000, 30_000]; // the last one repeats
const MAX_RETRYING = 24; // maximum number of retrying requests; any more report the error
const POLL_WANTED_MS = 250; // milliseconds between two calls of `wanted()`
const BUSY = new Set(['line_full', 'cluster_busy', 'training_full']);

const retrying = new Set();

/**
 * Whether the server rejected the request because its queue is full.
 * @param {unknown} answer
 * @returns {answer is ErrorMessage}
 */
export const isBusy = (answer) => isMessage(answer, 'error') && BUSY.has(answer.word);

/** Retry state of one request. */
export class Retry {
  constructor() {
    this.times = 0;
  }

  /**
   * Whether the cluster is unreachable or busy, and the limit of retrying requests is not reached.
   * @param {unknown} answer
   * @returns {answer is ErrorMessage}
   */
  shouldRetry(answer) {
    const isGone = isMessage(answer, 'error') && answer.word === 'cluster_gone';
    if ((!isGone && !isBusy(answer)) || (retrying.size >= MAX_RETRYING && !retrying.has(this))) return false;
    retrying.add(this);
    return true;
  }

  /**
   * Milliseconds until the next retry: back-off with jitter, at least the delay that a busy server asks for.
   * @param {ErrorMessage} answer
   */
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

/**
 * Waits for `pause` milliseconds, or until `wanted()` returns false.
 * @param {number} pause
 * @param {(() => boolean) | null} needed
 */
export async function rest(pause, needed = null) {
  const interval = needed ? POLL_WANTED_MS : pause;
  for (let left = pause; left > 0 && (!needed || needed()); left -= interval) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(interval, left)));
  }
}
