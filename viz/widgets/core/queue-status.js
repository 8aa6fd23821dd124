// Status line at the bottom of the page: queue position or "cluster unreachable". It combines all waiting requests.

import { queueStatus } from './boot.js';
import { t } from './i18n.js';

const SECOND = 1000;

const waiters = new Map(); // waiter → queue position
const busyWaiters = new Map(); // waiter → time of its retry, if the server is busy
const unreachableWaiters = new Set(); // waiters of an unreachable cluster
/** @type {HTMLElement | null} */
let statusElement = null;
/** @type {Timer | undefined} timer of the countdown */
let clock;

export { queueStatus };

/** Sets the queue position of a waiter; `null` removes it. */
queueStatus.setPosition = (waiter, before) => {
  if (before === null) waiters.delete(waiter);
  else waiters.set(waiter, before);
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
  if (pause === null) busyWaiters.delete(waiter);
  else busyWaiters.set(waiter, performance.now() + pause);
  draw();
};

function draw() {
  const text = unreachableWaiters.size
    ? t('line_away')
    : busyWaiters.size
      ? retryText()
      : waiters.size
        ? positionText(Math.max(...waiters.values()))
        : '';
  const isCountdown = busyWaiters.size && !unreachableWaiters.size;
  clearTimeout(clock);
  if (isCountdown) clock = setTimeout(draw, SECOND);
  if (!text && !statusElement) return;
  statusElement ??= createStatusElement();
  // Screen readers announce the countdown once, not every second.
  statusElement.setAttribute('aria-live', isCountdown && statusElement.textContent ? 'off' : 'polite');
  if (statusElement.textContent !== text) statusElement.textContent = text;
}

const positionText = (most) => (most ? t(most === 1 ? 'line_one' : 'line_before', { count: most }) : t('line_next'));

/** Text with the seconds until the first retry. */
function retryText() {
  const left = Math.min(...busyWaiters.values()) - performance.now();
  return t('line_again', { seconds: Math.max(1, Math.ceil(left / SECOND)) });
}

function createStatusElement() {
  const line = document.createElement('p');
  line.className = 'headlight line-sign';
  line.setAttribute('role', 'status');
  document.querySelector('.gradio-container')?.append(line);
  return line;
}
