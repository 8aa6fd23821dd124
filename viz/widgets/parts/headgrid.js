// All heads of a model as thumbnails: rows are layers, columns are heads, averages and maxima beside them.

import { make, replace } from '../core/dom.js';
import { same, state } from '../core/state.js';
import { table } from '../core/theme.js';
import { level, rowMaximum, view } from '../core/view.js';
import { t } from '../core/words.js';
import { headName } from './naming.js';

const REST = 70; // milliseconds on a thumbnail before it is shown large
const MOST = 64; // cells a side: finer ones are drawn by the strongest among them

/** `choose(head, event)`: one was clicked. `preview(head)`: the pointer rests on one; null when it has left. */
export class HeadGrid {
  constructor({ choose, preview }) {
    this.element = make('div', { class: 'wall-grid', role: 'listbox' });
    this.drawnShape = '';
    this.listen(choose, preview);
  }

  listen(choose, preview) {
    let resting = 0;
    let pointer = { x: NaN, y: NaN };
    this.element.addEventListener('click', (event) => {
      const button = event.target.closest('button');
      if (!button) return;
      clearTimeout(resting);
      choose(place(button), event);
      button.focus({ preventScroll: true });
    });
    this.element.addEventListener('pointerover', (event) => {
      const button = event.target.closest('button');
      clearTimeout(resting);
      // A wall that changes under a pointer at rest is not pointed at.
      const rests = pointer.x === event.clientX && pointer.y === event.clientY;
      pointer = { x: event.clientX, y: event.clientY };
      if (!button || rests || event.pointerType === 'touch') return;
      resting = setTimeout(() => preview(place(button)), REST);
    });
    this.element.addEventListener('pointerleave', () => {
      clearTimeout(resting);
      preview(null);
    });
  }

  build(layers, heads) {
    const caption = (text, name = '') => make('div', { class: `caption ${name}`, 'aria-hidden': 'true' }, text);
    const gap = (name) => make('div', { class: name, 'aria-hidden': 'true' });
    this.element.style.setProperty('--heads', heads);
    const cells = [caption(''), ...Array.from({ length: heads }, (_, head) => caption(head + 1))];
    cells.push(gap('gap'), caption(t('mean_short')), caption(t('maximum_short')));
    for (const layer of layerPlaces(layers)) {
      if (layer === 'mean') cells.push(gap('gap-row'));
      cells.push(caption(layer === 'mean' ? t('mean_short') : t('layer_short', { layer: layer + 1 }), 'row'));
      for (const head of headPlaces(heads)) {
        if (head === 'mean') cells.push(gap('gap'));
        const label = headName(layer, head);
        const attributes = { type: 'button', class: 'thumb', role: 'option', 'aria-label': label, title: label };
        cells.push(make('button', { ...attributes, data: { layer, head } }, make('canvas', { 'aria-hidden': 'true' })));
      }
    }
    replace(this.element, ...cells);
  }

  draw(answer, kind) {
    const shape = `${kind} ${answer.layers(kind)} ${answer.heads(kind)} ${state.language}`;
    if (shape !== this.drawnShape) this.build(answer.layers(kind), answer.heads(kind));
    this.drawnShape = shape;
    for (const button of this.buttons()) {
      const { layer, head } = place(button);
      paint(button.firstElementChild, view(answer, kind, layer, head));
    }
  }

  /** Which one is chosen; `pin`: the letter at a corner, if any. */
  mark(chosen, pin = () => '') {
    for (const button of this.buttons()) {
      const here = place(button);
      button.setAttribute('aria-selected', String(same(here, chosen)));
      button.tabIndex = same(here, chosen) ? 0 : -1;
      button.dataset.pin = pin(here);
    }
  }

  buttons() {
    return this.element.querySelectorAll('button');
  }

  focus() {
    this.element.querySelector('[aria-selected=true]')?.focus({ preventScroll: true });
  }
}

const headPlaces = (heads) => [...Array(heads).keys(), 'mean', 'max'];
const layerPlaces = (layers) => [...Array(layers).keys(), 'mean'];

/** The head so many steps on in reading order; after the last of a layer the first of the next. */
export function pageHead({ layer, head }, step, heads, layers) {
  const [across, down] = [headPlaces(heads), layerPlaces(layers)];
  let column = across.indexOf(head) + step;
  let row = down.indexOf(layer);
  if (column < 0) [column, row] = [across.length - 1, (row + down.length - 1) % down.length];
  if (column >= across.length) [column, row] = [0, (row + 1) % down.length];
  return { layer: down[row], head: across[column] };
}

/** The layer so many steps down, round the end. */
export function climbLayer(layer, step, layers) {
  const down = layerPlaces(layers);
  return down[(down.indexOf(layer) + step + down.length) % down.length];
}

const number = (text) => (/^\d+$/.test(text) ? Number(text) : text);
const place = (button) => ({ layer: number(button.dataset.layer), head: number(button.dataset.head) });

/** The square root of each weight: thumbnails are for recognising shapes, and faint ones should show. */
export function paint(canvas, shown) {
  const { weights, rows, columns } = shown;
  const [height, width] = [Math.min(rows.length, MOST), Math.min(columns.length, MOST)];
  Object.assign(canvas, { width, height });
  const context = canvas.getContext('2d');
  const picture = context.createImageData(width, height);
  const colours = table(state.palette);
  const strongest = new Float32Array(width * height).fill(-1);
  for (let row = 0; row < rows.length; row++) {
    const most = state.scale === 'row' ? rowMaximum(shown, row) : 1;
    const y = Math.floor((row * height) / rows.length);
    for (let column = 0; column < columns.length; column++) {
      const weight = weights[row * columns.length + column];
      const cell = y * width + Math.floor((column * width) / columns.length);
      const here = weight === weight ? level(weight, most) : -1;
      if (here > strongest[cell]) strongest[cell] = here;
    }
  }
  for (let cell = 0; cell < strongest.length; cell++) {
    if (strongest[cell] < 0) continue; // masked: what is behind shows
    const from = Math.min(255, Math.round(Math.sqrt(strongest[cell]) * 255)) * 3;
    picture.data.set(colours.subarray(from, from + 3), cell * 4);
    picture.data[cell * 4 + 3] = 255;
  }
  context.putImageData(picture, 0, 0);
}
