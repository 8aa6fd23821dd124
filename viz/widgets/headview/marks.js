// Hovered and pinned rows and columns of a map. One token of a model can be three of another,
// so several rows or columns may be meant at once.

import { level, merged } from '../core/view.js';

/** Highlighted indices per axis: null for none; an empty list if the highlighted token has no match here. */
export const NOTHING = { rows: null, columns: null };

/** `missing`: message if the word selected elsewhere has no counterpart here. */
export const NO_MARKS = { hover: NOTHING, pinned: NOTHING, missing: '' };

export const any = ({ rows, columns }) => Boolean(rows?.length || columns?.length);

const listed = (place) => (place === null ? null : [place]);

/** The marks of a store in which at most one row and one column are meant. */
export const marksOf = ({ row, column, hoverRow, hoverColumn }) => ({
  hover: { rows: listed(hoverRow), columns: listed(hoverColumn) },
  pinned: { rows: listed(row), columns: listed(column) },
  missing: '',
});

/** Effective highlight: per axis, hover before pin. */
export function meant({ hover, pinned }) {
  const places = (axis) => [hover[axis], pinned[axis]].find((each) => each?.length) ?? null;
  return { rows: places('rows'), columns: places('columns') };
}

/** The weights of some rows and columns together: sums over columns, means over rows. NaN where all of them are masked. */
export const together = (view, rows, columns) => merged({ weights: view.weights, columns: view.columns.length }, rows, columns);

/** Sum of the highlighted rows per column, or of the highlighted columns per row. */
export function litWeights(view, { rows, columns }) {
  const each = (items, weigh) => Float32Array.from(items, (_, place) => weigh(place));
  if (rows?.length) return { columns: each(view.columns, (column) => together(view, rows, [column])) };
  if (columns?.length) return { rows: each(view.rows, (row) => together(view, [row], columns)) };
  return {};
}

/** Largest weight, never zero; used for normalisation. */
export const most = (weights) => weights.reduce((all, weight) => Math.max(all, weight || 0), 1e-9);

/** The same as strengths from 0 to 1, for shading. */
export function litLevels(view, marks, scale) {
  const scaled = (weights) => {
    const greatest = most(weights);
    return Array.from(weights, (weight) => level(weight, greatest, scale));
  };
  return Object.fromEntries(Object.entries(litWeights(view, marks)).map(([axis, weights]) => [axis, scaled(weights)]));
}
