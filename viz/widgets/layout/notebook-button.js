// The "Notebook" button in the header: three lines of code to copy, which show the maps of any model in a notebook.

import { make } from '../core/dom.js';
import { on } from '../core/state.js';
import { t } from '../core/i18n.js';
import { copyText } from '../parts/save.js';

const CODE = [
  "%pip install 'headlight-attention[notebook]'",
  'import headlight',
  'headlight.show(outputs, tokenizer=tokenizer, **inputs)',
].join('\n');
const PICTURE = { tile: 34, gap: 3, columns: 8, rows: 3 };

/** Creates the button and its panel. */
export function notebookButton() {
  const summary = make('summary', {});
  const title = make('h2', {});
  const description = make('p', {});
  const picture = make('canvas', { 'aria-hidden': 'true' });
  const code = make('pre', { dir: 'ltr' }, CODE);
  const copy = make('button', { type: 'button', class: 'link' });
  const status = make('span', { class: 'quiet', role: 'status' });
  const panel = make('div', { class: 'notebook-panel' }, title, description, picture, code, make('p', {}, copy, ' ', status));
  const element = make('details', { class: 'notebook-button' }, summary, panel);
  copy.addEventListener('click', async () => {
    try {
      await copyText(CODE);
      status.textContent = t('notebook_copied');
    } catch {
      status.textContent = t('not_saved');
    }
  });
  element.addEventListener('toggle', () => {
    status.textContent = '';
    if (element.open) drawWall(picture);
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
    title.textContent = t('notebook_title');
    description.textContent = t('notebook_says');
    copy.textContent = t('notebook_copy');
  };
  on(['language'], draw);
  draw();
  return element;
}

/** Draws thumbnails of the head wall as a picture of the notebook widget. */
function drawWall(picture) {
  const { tile, gap, columns, rows } = PICTURE;
  const maps = [...document.querySelectorAll('#panel-heads .wall-grid .thumb canvas')].filter(
    (canvas) => /^\d+$/.test(canvas.parentElement?.dataset.layer ?? '') && /^\d+$/.test(canvas.parentElement?.dataset.head ?? ''),
  );
  Object.assign(picture, { width: columns * (tile + gap), height: rows * (tile + gap) });
  const context = picture.getContext('2d');
  context.imageSmoothingEnabled = false;
  for (const [place, map] of maps.slice(0, columns * rows).entries())
    context.drawImage(map, (place % columns) * (tile + gap), Math.floor(place / columns) * (tile + gap), tile, tile);
}
