// What is pointed at: the row and column under the pointer, and the tokens of both sentences that they light.

import { LET_GO, set, state } from '../core/state.js';
import { litLevels, paint } from '../parts/heatmap.js';

const ABOVE = 52; // pixels that a strip shows above the token that it scrolls to

/** The pointer points, and a click pins. `where(event)`: row and column, either of them null; nothing while no head is shown. */
export function listenToPointer(element, where) {
  element.addEventListener('pointermove', (event) => {
    const at = event.pointerType === 'touch' ? null : where(event);
    if (at) set({ hoverRow: at[0], hoverColumn: at[1] });
  });
  element.addEventListener('pointerleave', () => set({ hoverRow: null, hoverColumn: null }));
  element.addEventListener('click', (event) => {
    const [row, column] = where(event) ?? [null, null];
    if (row === null && column === null) return;
    const again = row === state.row && column === state.column;
    set({ ...LET_GO, row: again ? null : row, column: again ? null : column });
  });
}

/** The row and column of a view that an element stands for: a label, a number, a token of the sentences. */
export function placeOf({ rows, columns }, element) {
  const cell = element.closest('[data-row],[data-column]');
  const number = (text) => (text === undefined ? null : Number(text));
  if (cell) return [number(cell.dataset.row), number(cell.dataset.column)];
  const key = element.closest('.token')?.dataset.keys.split(' ')[0];
  if (!key) return [null, null];
  const row = rows.findIndex((item) => keysOf(item).includes(key));
  if (row >= 0) return [row, null];
  const column = columns.findIndex((item) => keysOf(item).includes(key));
  return [null, column >= 0 ? column : null];
}

/** Shade the tokens of both sentences by what the row, or else the column, holds of them. */
export function lightStrips(strips, view, row, column) {
  const { rows, columns } = view;
  const lit = litLevels(view, row, column);
  const strength = new Map();
  lit.columns?.forEach((level, place) => strength.set(columns[place].key, [level, columns[place]]));
  lit.rows?.forEach((level, place) => strength.set(rows[place].key, [level, rows[place]]));
  const byToken = new Map();
  for (const [level, item] of strength.values()) for (const key of keysOf(item)) byToken.set(key, level);
  const chosen = new Set(row !== null ? keysOf(rows[row]) : column !== null ? keysOf(columns[column]) : []);
  for (const token of strips.elements()) {
    const key = token.dataset.keys.split(' ')[0];
    paint(token, byToken.get(key));
    token.classList.toggle('chosen', chosen.has(key));
  }
  for (const strip of strips.strips) reveal(strip);
}

/** The tokens that an item stands for: its own, and the others of its word. */
function keysOf(item) {
  const letter = item.key[0];
  if (letter === 'b') return ['b'];
  const first = Number(item.key.slice(1));
  return item.places.map((_, number) => `${letter}${first + number}`);
}

/** A long strip scrolls to what is lit in it, unless the pointer is there. */
function reveal(strip) {
  if (!strip.classList.contains('long') || strip.matches(':hover')) return;
  const token = strip.querySelector('.chosen') ?? [...strip.children].find((each) => each.style.backgroundColor);
  if (token) strip.scrollTop = token.offsetTop - ABOVE;
}
