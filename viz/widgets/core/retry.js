// Retries requests with back-off while the cluster is unreachable or the server is busy.

import { isMessage } from './messages.js';

/** @typedef {import('messages').ErrorMessage} ErrorMessage */

const RETRY_DELAYS_MS = [2000, 4000, 8000, 15_000, 30_000]; // the last one repeats
const MAX_RETRYING = 24; // requests at a time; further ones report the error
const POLL_MS = 250; // milliseconds between two calls of `isWanted()`
const BUSY_WORDS = new Set(['line_full', 'cluster_busy', 'training_full']);

const retryingRequests = new Set();

/**
 * Whether the server rejected the request because its queue is full.
 * @param {unknown} answer
 * @returns {answer is ErrorMessage}
 */
export const isBusy = (answer) => isMessage(answer, 'error') && BUSY_WORDS.has(answer.word);

/** Retry state of one request. */
export class Retry {
  constructor() {
    this.attempts = 0;
  }

  /**
   * Whether the cluster is unreachable or busy, and fewer than `MAX_RETRYING` requests are retrying.
   * @param {unknown} answer
   * @returns {answer is ErrorMessage}
   */
  shouldRetry(answer) {
    const isUnreachable = isMessage(answer, 'error') && answer.word === 'cluster_gone';
    if ((!isUnreachable && !isBusy(answer)) || (retryingRequests.size >= MAX_RETRYING && !retryingRequests.has(this))) return false;
    retryingRequests.add(this);
    return true;
  }

  /**
   * Milliseconds until the next retry: back-off with jitter, at least the delay that a busy server asks for.
   * @param {ErrorMessage} answer
   */
  pause(answer) {
    const pause = RETRY_DELAYS_MS[Math.min(this.attempts, RETRY_DELAYS_MS.length - 1)];
    this.attempts += 1;
    if (!isBusy(answer)) return pause * (0.75 + Math.random() / 2);
    return Math.max(pause, 1000 * (answer.values?.seconds ?? 0)) * (1 + Math.random() / 2);
  }

  finish() {
    retryingRequests.delete(this);
  }
}

/**
 * Waits for `pause` milliseconds, or until `isWanted()` returns false.
 * @param {number} pause
 * @param {(() => boolean) | null} isWanted
 */
export async function sleep(pause, isWanted = null) {
  const interval = isWanted ? POLL_MS : pause;
  for (let remaining = pause; remaining > 0 && (!isWanted || isWanted()); remaining -= interval) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(interval, remaining)));
  }
}
