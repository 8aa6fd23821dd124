// Hovered and pinned rows and columns of a map. Several can be highlighted at once, since one token of a model can
// correspond to several tokens of another.

import { colourLevel, reduceCells } from '../core/map-view.js';

/** Highlighted indices per axis: null for none; an empty list if the highlighted token has no match here. */
export const NO_CELLS = { rows: null, columns: null };

/** `missing`: message if the word that another view highlights has no counterpart in this map. */
export const NO_HIGHLIGHT = { hover: NO_CELLS, pinned: NO_CELLS, missing: '' };

export const hasHighlight = ({ rows, columns }) => Boolean(rows?.length || columns?.length);

const toList = (index) => (index === null ? null : [index]);

/** The highlight of a store, with at most one row and one column. */
export const getHighlight = ({ row, column, hoverRow, hoverColumn }) => ({
  hover: { rows: toList(hoverRow), columns: toList(hoverColumn) },
  pinned: { rows: toList(row), columns: toList(column) },
  missing: '',
});

/** Effective highlight: per axis the hover, else the pin. */
export function mergeHighlight({ hover, pinned }) {
  const indicesOn = (axis) => [hover[axis], pinned[axis]].find((item) => item?.length) ?? null;
  return { rows: indicesOn('rows'), columns: indicesOn('columns') };
}

/** Combined weight of some rows and columns: summed over columns, averaged over rows; NaN if all cells are masked. */
export const combineWeights = (view, rows, columns) => reduceCells({ weights: view.weights, columns: view.columns.length }, rows, columns);

/**
 * Sum of the effects of some rows and columns, in nats.
 * @param {any} view with effects
 */
export const sumEffects = ({ effects, columns: { length } }, rows, columns) =>
  rows.reduce((all, row) => all + columns.reduce((sum, column) => sum + effects[row * length + column], 0), 0);

/** `combineWeights` of the highlighted rows per column or, if no row is highlighted, of the highlighted columns per row. */
export function getHighlightWeights(view, { rows, columns }) {
  const weighAll = (items, weigh) => Float32Array.from(items, (_, index) => weigh(index));
  if (rows?.length) return { columns: weighAll(view.columns, (column) => combineWeights(view, rows, [column])) };
  if (columns?.length) return { rows: weighAll(view.rows, (row) => combineWeights(view, [row], columns)) };
  return {};
}

/** Largest weight, never zero; used for normalisation. */
export const maxWeight = (weights) => weights.reduce((all, weight) => Math.max(all, weight || 0), 1e-9);

/** `getHighlightWeights` scaled to levels from 0 to 1, for shading. */
export function getHighlightLevels(view, marks, scale) {
  const scaleLevels = (weights) => {
    const maximum = maxWeight(weights);
    return Array.from(weights, (weight) => colourLevel(weight, maximum, scale));
  };
  return Object.fromEntries(Object.entries(getHighlightWeights(view, marks)).map(([axis, weights]) => [axis, scaleLevels(weights)]));
}
