// The grid of thumbnails, one per head. For a translation, rows are layers and columns are heads, followed by means and maxima.

import { effectLevel } from '../core/effect-scale.js';
import { make, replace } from '../core/dom.js';
import { state as page } from '../core/state.js';
import { sameHead } from '../core/store.js';
import { colourTable } from '../core/theme.js';
import { colourLevel, rowMaximum } from '../core/map-view.js';
import { t } from '../core/i18n.js';

const HOVER_DELAY_MS = 70; // milliseconds on a thumbnail before it is shown large
const MAX_CELLS = 64; // cells per side; larger maps are max-pooled

/** Callbacks: `choose(head, event)` on a click; `preview(head)` on hover, with null when the pointer leaves. */
export class HeadGrid {
  constructor({ choose, preview }) {
    this.element = make('div', { class: 'wall-grid', role: 'listbox' });
    this.drawnShape = '';
    this.listen(choose, preview);
  }

  listen(choose, preview) {
    let timer = 0;
    let pointer = { x: NaN, y: NaN };
    this.element.addEventListener('click', (event) => {
      const button = event.target.closest('button');
      if (!button) return;
      clearTimeout(timer);
      button.focus({ preventScroll: true }); // before `choose`: focusing forces a layout, which `choose` invalidates
      choose(getHead(button), event);
    });
    this.element.addEventListener('pointerover', (event) => {
      const button = event.target.closest('button');
      clearTimeout(timer);
      // Ignore events without movement: the wall has changed under the pointer.
      const isStill = pointer.x === event.clientX && pointer.y === event.clientY;
      pointer = { x: event.clientX, y: event.clientY };
      if (!button || isStill || event.pointerType === 'touch') return;
      timer = setTimeout(() => preview(getHead(button)), HOVER_DELAY_MS);
    });
    this.element.addEventListener('pointerleave', () => {
      clearTimeout(timer);
      preview(null);
    });
  }

  /** Draws all heads of a source; `displayOptions`: display options. */
  draw(source, kind, displayOptions) {
    const rows = source.wallLayout(kind, displayOptions);
    const shape = JSON.stringify([rows, page.language, source.layered, source.layerNumbers]);
    if (shape !== this.drawnShape) {
      const focused = this.element.contains(document.activeElement);
      const hasAverages = rows.flat().some(({ head }) => head === 'mean');
      this.element.className = source.layered ? `wall-grid${hasAverages ? ' averaged' : ''}` : 'wall-flow';
      replace(this.element, ...(source.layered ? this.layers(source, rows) : makeFlowLayout(source, rows.flat())));
      this.needsFocus = focused;
    }
    this.drawnShape = shape;
    this.paint(source, kind, displayOptions);
  }

  /** Repaints the thumbnails for which `filter(head)` is true. */
  paint(source, kind, displayOptions, filter = (_head) => true) {
    for (const button of this.buttons()) {
      const head = getHead(button);
      if (filter(head)) paint(button.firstElementChild, source.thumbnailMap(kind, head, displayOptions), displayOptions);
    }
  }

  /** A grid with a row per layer, a column per head, and their numbers. */
  layers(source, rows) {
    const caption = (text, name = '') => make('div', { class: `caption ${name}`, 'aria-hidden': 'true' }, text);
    const gap = (name) => make('div', { class: name, 'aria-hidden': 'true' });
    const shortNames = { mean: source.averageName ?? t('mean_short'), max: t('maximum_short') };
    const heads = rows[0].map(({ head }) => head);
    const headCount = heads.filter((head) => typeof head === 'number').length;
    this.element.style.setProperty('--heads', headCount);
    this.element.style.setProperty('--average-columns', heads.length - headCount);
    const cells = [caption('')];
    for (const head of heads) {
      if (head === 'mean') cells.push(gap('gap'));
      cells.push(caption(shortNames[head] ?? head + 1));
    }
    for (const row of rows) {
      const [{ layer }] = row;
      if (layer === 'mean') cells.push(gap('gap-row'));
      cells.push(caption(shortNames[layer] ?? t('layer_short', { layer: (source.layerNumbers?.[layer] ?? layer) + 1 }), 'row'));
      for (const head of row) cells.push(head.head === 'mean' ? gap('gap') : null, createThumbnail(source, head));
    }
    return cells;
  }

  /**
   * Marks the selected head; `pin`: the letter in a corner, A or B in a comparison.
   * @param {any} selectedHead
   * @param {(here: any) => string} pin
   */
  updateMarks(selectedHead, pin = () => '') {
    for (const button of this.buttons()) {
      const buttonHead = getHead(button);
      const [selected, letter] = [String(sameHead(buttonHead, selectedHead)), pin(buttonHead)];
      if (button.getAttribute('aria-selected') !== selected) {
        button.setAttribute('aria-selected', selected);
        button.tabIndex = selected === 'true' ? 0 : -1;
      }
      if (button.dataset.pin !== letter) button.dataset.pin = letter; // an equal value would still restyle the button
    }
    if (this.needsFocus) this.focus(); // the focused thumbnail was replaced
    this.needsFocus = false;
  }

  buttons() {
    return this.element.querySelectorAll('button');
  }

  focus() {
    this.element.querySelector('[aria-selected=true]')?.focus({ preventScroll: true });
  }
}

function createThumbnail(source, { layer, head }) {
  const label = source.headName({ layer, head });
  const attributes = { type: 'button', class: 'thumb', role: 'option', 'aria-label': label, title: label, data: { layer, head } };
  return make('button', attributes, make('canvas', { 'aria-hidden': 'true' }));
}

/** Thumbnails in a wrapping row, each with its name below. */
function makeFlowLayout(source, heads) {
  const caption = (head) => make('span', { class: 'caption', 'aria-hidden': 'true' }, source.shortName(head));
  return heads.map((head) => make('div', { class: 'cell', role: 'presentation' }, createThumbnail(source, head), caption(head)));
}

const parseIndex = (text) => (/^\d+$/.test(text) ? Number(text) : text);
const getHead = (button) => ({ layer: parseIndex(button.dataset.layer), head: parseIndex(button.dataset.head) });

/** Paints the square root of each weight, so that thumbnails show faint patterns. */
function paint(canvas, { weights, effects = null, rows, columns }, { scale, palette }) {
  const [height, width] = [Math.min(rows.length, MAX_CELLS), Math.min(columns.length, MAX_CELLS)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext('2d');
  const picture = context.createImageData(width, height);
  const pixels = new Uint32Array(picture.data.buffer); // one write per pixel, 10 times as fast as four
  const colours = getPalettePixels(effects ? 'difference' : palette);
  if (effects) paintEffects(pixels, colours, { weights, effects }, [rows.length, columns.length], [height, width]);
  else {
    const levels = scale === 'log' || scale === 'row' ? colourLevels({ weights, columns }, rows.length, scale) : weights;
    const maxima = maxPool(levels, [rows.length, columns.length], [height, width]);
    for (let cell = 0; cell < maxima.length; cell++) {
      if (maxima[cell] < 0) continue; // masked: transparent
      pixels[cell] = colours[Math.min(255, Math.round(Math.sqrt(maxima[cell]) * 255))];
    }
  }
  context.putImageData(picture, 0, 0);
}

/** The stronger of the positive and negative effects of the cells that share a pixel; masked cells are transparent. */
function paintEffects(pixels, colours, { weights, effects }, shape, size) {
  const allowed = maxPool(weights, shape, size);
  const [support, opposition] = [1, -1].map((sign) =>
    maxPool(
      effects.map((effect) => Math.max(0, sign * effect)),
      shape,
      size,
    ),
  );
  for (let cell = 0; cell < allowed.length; cell++) {
    if (allowed[cell] < 0) continue;
    const effect = support[cell] > opposition[cell] ? support[cell] : -opposition[cell];
    pixels[cell] = colours[Math.round(255 * effectLevel(effect))];
  }
}

/** Colour level of each weight. */
function colourLevels(map, rows, scale) {
  const columnCount = map.columns.length;
  const rowMaxima = Float32Array.from({ length: rows }, (_, row) => (scale === 'row' ? rowMaximum(map, row) : 1));
  return Float32Array.from(map.weights, (weight, cell) => colourLevel(weight, rowMaxima[Math.floor(cell / columnCount)], scale));
}

/** Maximum level of the cells that share a pixel; -1 if all of them are masked. */
function maxPool(levels, [rowCount, columnCount], [height, width]) {
  const maxima = new Float32Array(width * height).fill(-1);
  const pixelColumns = Int32Array.from({ length: columnCount }, (_, column) => Math.floor((column * width) / columnCount));
  for (let row = 0, cell = 0; row < rowCount; row++) {
    const first = Math.floor((row * height) / rowCount) * width;
    for (let column = 0; column < columnCount; column++, cell++) {
      const pixel = first + pixelColumns[column];
      if (levels[cell] > maxima[pixel]) maxima[pixel] = levels[cell]; // false for NaN
    }
  }
  return maxima;
}

const pixelsByScale = new WeakMap(); // colour table → 256 RGBA pixels

/** The 256 colours of a palette as RGBA pixels. */
function getPalettePixels(palette) {
  const levels = colourTable(palette);
  if (!pixelsByScale.has(levels)) {
    const bytes = new Uint8Array(4 * 256).fill(255);
    for (let level = 0; level < 256; level++) bytes.set(levels.subarray(3 * level, 3 * level + 3), 4 * level);
    pixelsByScale.set(levels, new Uint32Array(bytes.buffer));
  }
  return pixelsByScale.get(levels);
}
