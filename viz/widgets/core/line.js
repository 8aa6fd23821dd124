// Others are before us: how many, at the foot of the page, until it is our turn. Each who waits has a word in it.

import { line } from './boot.js';
import { t } from './words.js';

const waiting = new Map(); // who waits → how many are before them
let sign = null;

export { line };

/** `who` waits for so many others; for `null`, no more. */
line.tell = (who, before) => {
  if (before === null) waiting.delete(who);
  else waiting.set(who, before);
  if (!waiting.size && !sign) return;
  sign ??= made();
  const most = Math.max(...waiting.values());
  sign.textContent = waiting.size ? says(most) : '';
};

const says = (most) => (most ? t(most === 1 ? 'line_one' : 'line_before', { count: most }) : t('line_next'));

function made() {
  const found = document.createElement('p');
  found.className = 'headlight line-sign';
  found.setAttribute('role', 'status');
  document.querySelector('.gradio-container').append(found);
  return found;
}
