// Status line at the bottom of the page: queue position or "cluster unreachable". It combines all waiting requests.

import { queueStatus } from './boot.js';
import { t } from './i18n.js';

const SECOND_MS = 1000;

const positions = new Map(); // waiter → number of requests ahead of it
const retryTimes = new Map(); // waiter of a busy server → time of its retry
/** @type {Map<string, { done: number, total: number }>} bytes by model */
const loadingModels = new Map();
const unreachableWaiters = new Set(); // waiters of an unreachable cluster
/** @type {HTMLElement | null} */
let statusElement = null;
/** @type {Timer | undefined} timer of the countdown */
let countdownTimer;

export { queueStatus };

/** Sets the number of requests ahead of a waiter; `null` removes the waiter. */
queueStatus.setPosition = (waiter, position) => {
  if (position === null) positions.delete(waiter);
  else positions.set(waiter, position);
  draw();
};

/** Sets whether `waiter` waits for an unreachable cluster. */
queueStatus.setUnreachable = (waiter, isUnreachable) => {
  if (isUnreachable) unreachableWaiters.add(waiter);
  else unreachableWaiters.delete(waiter);
  draw();
};

/** Sets the milliseconds until `waiter` retries a busy server; `null` removes it. */
queueStatus.setRetry = (waiter, pause) => {
  if (pause === null) retryTimes.delete(waiter);
  else retryTimes.set(waiter, performance.now() + pause);
  draw();
};

/** Sets the progress of a model that loads; `null` removes it. */
queueStatus.setLoading = (name, progress) => {
  if (progress) loadingModels.set(name, progress);
  else loadingModels.delete(name);
  draw();
};

function draw() {
  const [loading] = loadingModels;
  const text = loading
    ? loadingText(loading)
    : unreachableWaiters.size
      ? t('line_away')
      : retryTimes.size
        ? formatRetry()
        : positions.size
          ? positionText(Math.max(...positions.values()))
          : '';
  const isCountdown = retryTimes.size && !unreachableWaiters.size;
  clearTimeout(countdownTimer);
  if (isCountdown) countdownTimer = setTimeout(draw, SECOND_MS);
  if (!text && !statusElement) return;
  statusElement ??= createStatusElement();
  statusElement.style.setProperty('--done', loading ? `${(100 * loading[1].done) / loading[1].total}%` : '0%');
  // Screen readers announce the countdown and the progress once, not every second.
  statusElement.setAttribute('aria-live', (isCountdown || loading) && statusElement.textContent ? 'off' : 'polite');
  if (statusElement.textContent !== text) statusElement.textContent = text;
}

function loadingText([model, { done, total }]) {
  return t('line_loading', { model, percent: Math.floor((100 * done) / total), total: (total / 1e6).toFixed(1) });
}

const positionText = (count) => (count ? t(count === 1 ? 'line_one' : 'line_before', { count }) : t('line_next'));

/** Text with the seconds until the first retry. */
function formatRetry() {
  const remaining = Math.min(...retryTimes.values()) - performance.now();
  return t('line_again', { seconds: Math.max(1, Math.ceil(remaining / SECOND_MS)) });
}

function createStatusElement() {
  const line = document.createElement('p');
  line.className = 'headlight line-sign';
  line.setAttribute('role', 'status');
  document.querySelector('.gradio-container')?.append(line);
  return line;
}
