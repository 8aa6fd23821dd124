// The "Notebook" button in the header, and its panel with the code.

import { make } from '../core/dom.js';
import { on } from '../core/state.js';
import { t } from '../core/i18n.js';
import { NotebookCode } from '../parts/notebook-code.js';

/** Creates the button and its panel. */
export function notebookButton() {
  const code = new NotebookCode();
  const summary = make('summary', {});
  const element = make('details', { class: 'notebook-button' }, summary, make('div', { class: 'notebook-panel' }, ...code.parts));
  element.addEventListener('toggle', () => {
    code.draw();
    if (element.open) code.drawPicture();
  });
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !element.open) return;
    event.stopPropagation();
    element.open = false;
    summary.focus();
  });
  document.addEventListener('pointerdown', ({ target }) => {
    if (!element.contains(/** @type {Node} */ (target))) element.open = false;
  });
  const draw = () => {
    summary.textContent = t('notebook');
    code.draw();
  };
  on(['language'], draw);
  draw();
  return element;
}
