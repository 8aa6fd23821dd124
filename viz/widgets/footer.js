// The one note that everybody should read once.

import { make } from './dom.js';
import { ready } from './page.js';
import { on } from './state.js';
import { t } from './words.js';

export async function mount({ element }) {
  await ready;
  const line = make('p', {});
  element.classList.add('last-line');
  element.append(line);
  const draw = () => (line.textContent = t('footer'));
  on(['language'], draw);
  draw();
}
