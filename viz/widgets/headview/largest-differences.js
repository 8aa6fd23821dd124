// The cells in which two heads differ most, as buttons that highlight their cell.

import { make } from '../core/dom.js';
import { signed } from '../core/map-view.js';
import { addItemNumber, findTopIndices } from './strongest-list.js';

const MAX_LISTED_CELLS = 6;

/** Buttons for the largest differences of a map A − B, without those below `minimum` in absolute value. */
export function listLargestDifferences({ weights, effects, rows, columns }, minimum = 0) {
  const differences = effects ?? weights;
  const cells = findTopIndices(differences, MAX_LISTED_CELLS, Math.abs).filter((cell) => Math.abs(differences[cell]) >= minimum);
  return cells.map((cell) => {
    const [row, column] = [Math.floor(cell / columns.length), cell % columns.length];
    const name = (items, index) => addItemNumber(make('bdi', {}, items[index].label), items, index);
    const names = make('span', {}, name(rows, row), ' → ', name(columns, column));
    const value = make('span', { class: `numeric ${differences[cell] > 0 ? 'first' : 'second'}` }, signed(differences[cell], 3));
    return make('button', { type: 'button', data: { row, column } }, names, value);
  });
}
