// The wall: every head of every layer, small enough to see them all and large enough to recognise a pattern.

import { make, replace, touch } from './dom.js';
import { headName } from './naming.js';
import { same, set, state } from './state.js';
import { table } from './theme.js';
import { level, rowMaximum, view } from './view.js';
import { t } from './words.js';

const REST = 70; // milliseconds on a thumbnail before it is shown large
const MOST = 64; // cells a side: finer ones are drawn by the strongest among them

export function mountWall(element) {
  const title = make('h2', {});
  const says = make('p', { class: 'quiet' });
  const grid = make('div', { class: 'wall-grid', role: 'listbox' });
  const keys = make('p', { class: 'keys' });
  element.classList.add('wall');
  element.append(title, says, grid, keys);
  let resting = 0;
  let pointer = { x: NaN, y: NaN };
  let drawnShape = '';

  grid.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (!button) return;
    clearTimeout(resting);
    const chosen = place(button);
    if (event.shiftKey) set({ pinned: chosen });
    set({ ...chosen, preview: null });
    button.focus({ preventScroll: true });
  });
  grid.addEventListener('pointerover', (event) => {
    const button = event.target.closest('button');
    clearTimeout(resting);
    // A wall that changes under a pointer at rest is not pointed at.
    const rests = pointer.x === event.clientX && pointer.y === event.clientY;
    pointer = { x: event.clientX, y: event.clientY };
    if (!button || rests || event.pointerType === 'touch') return;
    resting = setTimeout(() => set({ preview: place(button) }), REST);
  });
  grid.addEventListener('pointerleave', () => {
    clearTimeout(resting);
    set({ preview: null });
  });

  const columns = (heads) => [...Array(heads).keys(), 'mean', 'max'];
  const rows = (layers) => [...Array(layers).keys(), 'mean'];

  function build(layers, heads) {
    const caption = (text, name = '') => make('div', { class: `caption ${name}`, 'aria-hidden': 'true' }, text);
    const gap = (name) => make('div', { class: name, 'aria-hidden': 'true' });
    grid.style.setProperty('--heads', heads);
    const cells = [caption(''), ...Array.from({ length: heads }, (_, head) => caption(head + 1))];
    cells.push(gap('gap'), caption(t('mean_short')), caption(t('maximum_short')));
    for (const layer of rows(layers)) {
      if (layer === 'mean') cells.push(gap('gap-row'));
      cells.push(caption(layer === 'mean' ? t('mean_short') : t('layer_short', { layer: layer + 1 }), 'row'));
      for (const head of columns(heads)) {
        if (head === 'mean') cells.push(gap('gap'));
        const label = headName(layer, head);
        const attributes = { type: 'button', class: 'thumb', role: 'option', 'aria-label': label, title: label };
        cells.push(make('button', { ...attributes, data: { layer, head } }, make('canvas', { 'aria-hidden': 'true' })));
      }
    }
    replace(grid, ...cells);
  }

  function draw() {
    const { answer, kind } = state;
    const shape = `${kind} ${answer.layers(kind)} ${answer.heads(kind)} ${state.language}`;
    const focused = grid.contains(document.activeElement);
    if (shape !== drawnShape) build(answer.layers(kind), answer.heads(kind));
    drawnShape = shape;
    title.textContent = t('wall');
    grid.setAttribute('aria-label', t('wall'));
    replace(keys, ...KEYS.map(([key, word]) => make('span', {}, ...key.map((each) => make('kbd', {}, each)), ` ${t(word)}`)));
    for (const button of grid.querySelectorAll('button')) {
      const { layer, head } = place(button);
      paint(button.firstElementChild, view(answer, kind, layer, head));
    }
    mark();
    if (focused) grid.querySelector('[aria-selected=true]')?.focus({ preventScroll: true });
  }

  function mark() {
    const waiting = state.pinned && same(state.pinned, state);
    says.textContent = t(state.pinned ? (waiting ? 'compare_choose' : 'compare_follows') : touch() ? 'wall_tap' : 'wall_says');
    for (const button of grid.querySelectorAll('button')) {
      const here = place(button);
      const chosen = same(here, state);
      button.setAttribute('aria-selected', String(chosen));
      button.tabIndex = chosen ? 0 : -1;
      button.dataset.pin = same(here, state.pinned) ? 'A' : chosen && state.pinned ? 'B' : '';
    }
  }

  return { draw, mark, focus: () => grid.querySelector('[aria-selected=true]')?.focus({ preventScroll: true }), grid };
}

const KEYS = [
  [['↑', '↓'], 'key_layer'],
  [['←', '→'], 'key_head'],
  [['1', '2', '3'], 'key_kind'],
  [['P'], 'key_pin'],
  [['M'], 'key_view'],
  [['J', 'K'], 'key_word'],
];

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
