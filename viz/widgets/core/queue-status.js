// Status line at the bottom of the page: queue position or "cluster unreachable". It combines all waiting requests.

import { queueStatus } from './boot.js';
import { t } from './i18n.js';

const SECOND = 1000;

const waiters = new Map(); // waiter → queue position
const refused = new Map(); // waiter of a busy server → time of its retry
const retrying = new Set(); // waiters of an unreachable cluster
/** @type {HTMLElement | null} */
let statusElement = null;
/** @type {Timer | undefined} timer of the countdown */
let clock;

export { queueStatus };

/** Set the queue position of a waiter; `null` removes it. */
queueStatus.setPosition = (who, before) => {
  if (before === null) waiters.delete(who);
  else waiters.set(who, before);
  draw();
};

/** Set whether `who` waits for an unreachable cluster. */
queueStatus.setUnreachable = (who, is) => {
  if (is) retrying.add(who);
  else retrying.delete(who);
  draw();
};

/** Set the milliseconds until `who` retries a busy server; `null` removes it. */
queueStatus.again = (who, pause) => {
  if (pause === null) refused.delete(who);
  else refused.set(who, performance.now() + pause);
  draw();
};

function draw() {
  const text = retrying.size ? t('line_away') : refused.size ? again() : waiters.size ? positionText(Math.max(...waiters.values())) : '';
  const counts = refused.size && !retrying.size;
  clearTimeout(clock);
  if (counts) clock = setTimeout(draw, SECOND);
  if (!text && !statusElement) return;
  statusElement ??= createStatusElement();
  // Screen readers announce the countdown once, not every second.
  statusElement.setAttribute('aria-live', counts && statusElement.textContent ? 'off' : 'polite');
  if (statusElement.textContent !== text) statusElement.textContent = text;
}

const positionText = (most) => (most ? t(most === 1 ? 'line_one' : 'line_before', { count: most }) : t('line_next'));

/** Text with the seconds until the first retry. */
function again() {
  const left = Math.min(...refused.values()) - performance.now();
  return t('line_again', { seconds: Math.max(1, Math.ceil(left / SECOND)) });
}

function createStatusElement() {
  const found = document.createElement('p');
  found.className = 'headlight line-sign';
  found.setAttribute('role', 'status');
  document.querySelector('.gradio-container')?.append(found);
  return found;
}
