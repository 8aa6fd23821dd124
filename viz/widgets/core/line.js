// Others are before us, or no machine is there: the foot of the page says so until it is our turn. Each who waits has a word in it.

import { line } from './boot.js';
import { t } from './words.js';

const waiting = new Map(); // who waits → how many are before them
const staying = new Set(); // who waits for machines that cannot be reached
let sign = null;

export { line };

/** `who` waits for so many others; for `null`, no more. */
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

function draw() {
  const text = staying.size ? t('line_away') : waiting.size ? says(Math.max(...waiting.values())) : '';
  if (!text && !sign) return;
  sign ??= made();
  if (sign.textContent !== text) sign.textContent = text;
}

const says = (most) => (most ? t(most === 1 ? 'line_one' : 'line_before', { count: most }) : t('line_next'));

function made() {
  const found = document.createElement('p');
  found.className = 'headlight line-sign';
  found.setAttribute('role', 'status');
  document.querySelector('.gradio-container').append(found);
  return found;
}
