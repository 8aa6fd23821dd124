// Highlights the row, the column and the sum of the cell under the mouse or with the focus. Arrow keys move the focus.

import { isTextField, replace } from '../core/dom.js';

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const parseCell = (cell) => cell.dataset.cell.split(',').map(Number);

/** The cell [row, column] that is highlighted when a part opens: that of the first field that is not solved, if any. */
export function findStartCell({ operation, fields, numbers, data }) {
  if (operation.start) return operation.start;
  const field = fields.next;
  const cell = field === undefined ? null : numbers.querySelector(`[data-field="${field}"]`)?.closest('[data-cell]');
  if (cell) return parseCell(cell);
  return operation.sum ? [operation.keyAt ? 0 : data.row, 0] : null;
}

/** Highlights a cell and shows its sum; the result is hidden until the reader has calculated it. */
export function selectCell({ state, operation, fields, numbers, sum }, cell) {
  state.highlightedCell = cell;
  if (!operation.highlight) return;
  operation.highlight(cell);
  if (!cell) return replace(sum);
  const field = numbers.querySelector(`[data-cell="${cell.join()}"] [data-field]`)?.dataset.field;
  const isHidden = field !== undefined && !fields.isSolved(field);
  sum.classList.toggle('long', Boolean(operation.isLong));
  replace(sum, ...(operation.sum?.(cell, isHidden) ?? []));
}

export function onHover(page, { target }) {
  const cell = target.closest?.('[data-cell]');
  if (cell && page.operation?.highlight) selectCell(page, parseCell(cell));
}

/** Moves the focus to the next cell in the direction of the arrow key. */
export function onArrow({ numbers }, event) {
  const step = STEPS[event.key];
  const cell = event.target.closest('[data-cell], [data-mask]');
  if (!step || !cell || isTextField(event.target)) return;
  const attribute = cell.dataset.mask ? 'mask' : 'cell';
  const [row, column] = cell.dataset[attribute].split(',').map(Number);
  const nextCell = numbers.querySelector(`[data-${attribute}="${row + step[0]},${column + step[1]}"]`);
  if (!nextCell) return;
  event.preventDefault();
  (nextCell.querySelector('input') ?? nextCell).focus();
}
