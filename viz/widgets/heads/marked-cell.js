// The cell that the headline describes, and its weight in every head.

import { argMax } from '../core/map-view.js';
import { combinedWeights, highlightWeights } from '../headview/highlights.js';

/** The pinned cell, or the largest one of the pinned row or column; null without a pin. */
export function markedCell(view, { row, column }) {
  const within = (place, items) => place === null || place < items.length;
  if ((row === null && column === null) || !within(row, view.rows) || !within(column, view.columns)) return null;
  const pinned = { rows: row === null ? null : [row], columns: column === null ? null : [column] };
  const lit = highlightWeights(view, pinned);
  return { row: row ?? argMax(lit.rows), column: column ?? argMax(lit.columns) };
}

/** Every head of a kind with its weight for a cell, in the order of the wall. */
export function weightsOfCell(source, kind, showing, { row, column }) {
  return source
    .wallLayout(kind)
    .flat()
    .filter(({ layer, head }) => typeof layer === 'number' && typeof head === 'number')
    .map((head) => ({ ...head, weight: combinedWeights(source.view(kind, head, showing), [row], [column]) }));
}
