// Status line at the bottom of the page: queue position or "cluster unreachable". It combines all waiting requests.

import { line } from './boot.js';
import { t } from './words.js';

const SECOND = 1000;

const waiting = new Map(); // waiter → queue position
const refused = new Map(); // whom a busy server has refused → when they ask again
const staying = new Set(); // waiters of an unreachable cluster
let sign = null;
let clock = null; // counts the seconds down

export { line };

/** Set the queue position of a waiter; `null` removes it. */
line.tell = (who, before) => {
  if (before === null) waiting.delete(who);
  else waiting.set(who, before);
  draw();
};

/** `who` waits until a machine computes again, or no more. */
line.away = (who, is) => {
  if (is) staying.add(who);
  else staying.delete(who);
  draw();
};

/** `who` was refused by a busy server, and asks again after so many milliseconds; for `null`, no more. */
line.again = (who, pause) => {
  if (pause === null) refused.delete(who);
  else refused.set(who, performance.now() + pause);
  draw();
};

function draw() {
  const text = staying.size ? t('line_away') : refused.size ? again() : waiting.size ? says(Math.max(...waiting.values())) : '';
  const counts = refused.size && !staying.size;
  clearTimeout(clock);
  if (counts) clock = setTimeout(draw, SECOND);
  if (!text && !sign) return;
  sign ??= made();
  // The count is read out once, and not each second.
  sign.setAttribute('aria-live', counts && sign.textContent ? 'off' : 'polite');
  if (sign.textContent !== text) sign.textContent = text;
}

const says = (most) => (most ? t(most === 1 ? 'line_one' : 'line_before', { count: most }) : t('line_next'));

/** When the first of us asks again. */
function again() {
  const left = Math.min(...refused.values()) - performance.now();
  return t('line_again', { seconds: Math.max(1, Math.ceil(left / SECOND)) });
}

function made() {
  const found = document.createElement('p');
  found.className = 'headlight line-sign';
  found.setAttribute('role', 'status');
  document.querySelector('.gradio-container').append(found);
  return found;
}
