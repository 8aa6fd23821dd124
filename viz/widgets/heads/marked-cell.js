// The cell that the headline describes, and its weight in every head.

import { argMax, reduceCells } from '../core/map-view.js';
import { combineWeights, getHighlightWeights } from '../headview/highlights.js';

/** The pinned cell, or the largest one of the pinned row or column; null without a pin. */
export function findMarkedCell(view, { row, column }) {
  const isInRange = (index, items) => index === null || index < items.length;
  if ((row === null && column === null) || !isInRange(row, view.rows) || !isInRange(column, view.columns)) return null;
  const pinned = { rows: row === null ? null : [row], columns: column === null ? null : [column] };
  const highlightedWeights = getHighlightWeights(view, pinned);
  return { row: row ?? argMax(highlightedWeights.rows), column: column ?? argMax(highlightedWeights.columns) };
}

/**
 * All heads of a kind with their weights for a cell of `view`, in the order of the wall. Computes only that cell, unless
 * rows are rescaled.
 */
export function getCellWeights(source, view, displayOptions, { row, column }) {
  const { kind } = view;
  const [rows, columns] = [view.rows[row].places, view.columns[column].places];
  const getWeight = (head) =>
    displayOptions.special || !displayOptions.rescale
      ? reduceCells(source.translation.map(kind, head.layer, head.head), rows, columns)
      : combineWeights(source.view(kind, head, displayOptions), [row], [column]);
  return source
    .wallLayout(kind, { averages: false })
    .flat()
    .map((head) => ({ ...head, weight: getWeight(head) }));
}
