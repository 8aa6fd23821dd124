// Status line at the bottom of the page: queue position or "cluster unreachable". It combines all waiting requests.

import { queueStatus } from './boot.js';
import { t } from './i18n.js';

const SECOND = 1000;

const waiters = new Map(); // waiter → queue position
const refused = new Map(); // whom a busy server has refused → when they ask again
const retrying = new Set(); // waiters of an unreachable cluster
let statusElement = null;
let clock = null; // counts the seconds down

export { queueStatus };

/** Set the queue position of a waiter; `null` removes it. */
queueStatus.setPosition = (who, before) => {
  if (before === null) waiters.delete(who);
  else waiters.set(who, before);
  draw();
};

/** `who` waits until a machine computes again, or no more. */
queueStatus.setUnreachable = (who, is) => {
  if (is) retrying.add(who);
  else retrying.delete(who);
  draw();
};

/** `who` was refused by a busy server, and asks again after so many milliseconds; for `null`, no more. */
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
  // The count is read out once, and not each second.
  statusElement.setAttribute('aria-live', counts && statusElement.textContent ? 'off' : 'polite');
  if (statusElement.textContent !== text) statusElement.textContent = text;
}

const positionText = (most) => (most ? t(most === 1 ? 'line_one' : 'line_before', { count: most }) : t('line_next'));

/** When the first of us asks again. */
function again() {
  const left = Math.min(...refused.values()) - performance.now();
  return t('line_again', { seconds: Math.max(1, Math.ceil(left / SECOND)) });
}

function createStatusElement() {
  const found = document.createElement('p');
  found.className = 'headlight line-sign';
  found.setAttribute('role', 'status');
  document.querySelector('.gradio-container').append(found);
  return found;
}
