// Hover, clicks and keys on the words of the desk, as on the words of a map.

import { argMax, getRowWeights } from '../core/map-view.js';
import { set, state } from '../core/state.js';
import { findCellByKeys } from '../headview/pointer.js';
import { desk, findDeskWord, listDeskWords } from '../parts/desk.js';

const MIN_WEIGHT = 0.05; // minimum weight of a clicked source word in the pinned row for that row to stay pinned

/** The interface of `mountTokenStrips`, for the words of the desk. */
export const deskStrips = { elements: listDeskWords, strips: [] };

/** `isVisible()`: whether the view is visible. */
export function mountDeskPointer(view, isVisible) {
  const { root, field } = desk();
  /** Position of the target token that an event chooses for the encoder's effects, where target tokens have no row; else null. */
  const findChosenToken = (event) => {
    const position = isVisible() && state.kind === 'encoder' && state.view === 'effect' ? findDeskWord(event)?.dataset.place : undefined;
    return position === undefined ? null : Number(position);
  };
  const cellAt = (event) =>
    isVisible() && view.view ? findCellByKeys(view.source, view.view, findDeskWord(event)?.dataset.keys) : [null, null];
  root?.addEventListener('pointermove', (event) => {
    if (event.pointerType === 'touch' || !isVisible()) return;
    const [row, column] = cellAt(event);
    if (row !== state.hoverRow || column !== state.hoverColumn) view.callbacks.onHover(row, column);
  });
  root?.addEventListener('pointerleave', () => isVisible() && view.callbacks.onHover(null, null));
  /** @type {{ before: Pins, after: Pins } | null} pins before and after the last click into the field */
  let caretClick = null;
  root?.addEventListener('click', (event) => {
    if (event.target === field && field?.selectionStart !== field?.selectionEnd) return; // text was selected
    const word = findChosenToken(event);
    if (word !== null) return set({ word });
    const [row, column] = cellAt(event);
    if (row !== null && row === state.row) return; // a second click on a target word opens its alternatives
    const previousPins = getPins();
    if (row !== null) view.callbacks.onPin(row, null);
    else if (column !== null) view.callbacks.onPin(...chooseColumnCell(view.view, column, state.row));
    if (event.target === field) caretClick = { before: caretClick?.before ?? previousPins, after: getPins() };
  });
  // Runs before the word's own key handler: like the first click, the first press chooses a word; the second one lists its alternatives.
  root?.addEventListener(
    'keydown',
    (event) => {
      const word = [' ', 'Enter'].includes(event.key) && event.target !== field ? findChosenToken(event) : null;
      if (word === null || word === state.word) return;
      event.preventDefault();
      event.stopPropagation();
      set({ word });
    },
    { capture: true },
  );
  field?.addEventListener('blur', () => (caretClick = null));
  // A click that only placed the caret for typing pins nothing.
  field?.addEventListener('input', () => {
    if (caretClick && isPinned(caretClick.after)) set(caretClick.before);
    caretClick = null;
  });
}

/** @typedef {{ row: number | null, column: number | null }} Pins */

/** @returns {Pins} */
const getPins = () => ({ row: state.row, column: state.column });

/** @param {Pins} expected */
const isPinned = ({ row, column }) => row === state.row && column === state.column;

/** A clicked source word pins the row that attends to it most, unless the pinned row attends to it, too. */
function chooseColumnCell(view, column, row) {
  const weights = Float32Array.from(view.rows, (_, index) => getRowWeights(view, index)[column]);
  return [row !== null && weights[row] >= MIN_WEIGHT ? row : argMax(weights), column];
}
