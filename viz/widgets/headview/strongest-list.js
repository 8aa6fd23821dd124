// The words with the largest weights in the highlighted row or column; without a highlight, the largest cells.

import { make, replace } from '../core/dom.js';
import { formatCertain, errorBound, fourDecimals, twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { rowText } from '../parts/row-name.js';
import { highlightWeights } from './highlights.js';

const MAX_LISTED = 6; // cells of a map, or tokens of a row or column

/** `sums`: whether to show the sum of the row. */
export function mountStrongestList(element, { sums = false } = {}) {
  element.classList.add('list');

  /** `now`: highlighted rows and columns; `comparing`: whether the listed head is B of a comparison. */
  return function list(source, view, now, comparing = false) {
    const { title, entries } = listEntries(source, view, now);
    const best = entries.filter(([, weight]) => weight === weight).sort((a, two) => two[1] - a[1]);
    const full = source.relative ? Math.max(1e-9, best[0]?.[1] ?? 0) : 1;
    const badge = comparing ? make('b', { class: 'second' }, 'B ') : null;
    const sum = sums && now.rows && !view.maximum ? sumUnmasked(highlightWeights(view, now).columns ?? []) : 0;
    const rows = best.slice(0, MAX_LISTED).map(([name, weight, isMarked, text]) => {
      const bar = make('i', { style: `width:${(100 * Math.min(1, weight / full)).toFixed(2)}%` });
      const label = make('span', { title: name.textContent }, name);
      return make('div', { class: isMarked ? 'meant' : null }, label, make('span', {}, bar), make('span', { class: 'numeric' }, text));
    });
    const total = sum ? make('span', { class: 'quiet numeric' }, t('row_sums_to', { sum: twoDecimals(sum) })) : null;
    replace(element, make('h3', {}, make('span', {}, ...[badge, ...title].filter(Boolean)), total), ...rows);
  };
}

const sumUnmasked = (weights) => weights.reduce((all, weight) => all + (weight || 0), 0); // without masked cells

/** The name of an item with its number on the axis, if another item has the same name. */
export function nameWithNumber(name, items, place) {
  const text = rowText(items[place]);
  if (items.every((item, other) => other === place || rowText(item) !== text)) return name;
  return make('span', {}, name, make('small', { class: 'item-number' }, ` ${place + 1}`));
}

function listEntries(source, view, now) {
  const rest = source.rest?.(view);
  const highlightedWeights = highlightWeights(view, now);
  const weights = highlightedWeights.columns ?? highlightedWeights.rows ?? rest;
  if (!weights) {
    const columnCount = view.columns.length;
    const itemName = (items, place) => nameWithNumber(make('bdi', {}, items[place].label), items, place);
    const name = (cell) => {
      const [row, column] = [Math.floor(cell / columnCount), cell % columnCount];
      return make('span', {}, itemName(view.rows, row), ' → ', itemName(view.columns, column));
    };
    const markText = (cell) => formatWeight(view, view.weights[cell], [Math.floor(cell / columnCount)], [cell % columnCount]);
    const entries = topIndices(view.weights, MAX_LISTED).map((cell) => [name(cell), view.weights[cell], false, markText(cell)]);
    return { title: source.listTitle(view, now), entries };
  }
  const axis = highlightedWeights.rows ? 'rows' : 'columns';
  const markedColumns = now.rows ? now.columns : null; // if a cell is highlighted, its column is marked
  const cellText = (position) => {
    if (!highlightedWeights.columns && !highlightedWeights.rows) return fourDecimals(rest[position]); // not quantised
    return formatWeight(
      view,
      weights[position],
      highlightedWeights.rows ? [position] : now.rows,
      highlightedWeights.rows ? now.columns : [position],
    );
  };
  const entries = topIndices(weights, MAX_LISTED).map((index) => [
    nameWithNumber(source.longName?.(view, axis, [index]) ?? source.name(view, axis, [index]), view[axis], index),
    weights[index],
    markedColumns?.includes(index),
    cellText(index),
  ]);
  return { title: source.listTitle(view, now), entries };
}

const formatWeight = (view, weight, rows, columns) => formatCertain(weight, errorBound(view, weight, rows, columns));

/** Indices of the `count` largest values, in descending order of `size`, without sorting all values. */
export function topIndices(values, count, size = (value) => value) {
  const best = [];
  for (let index = 0; index < values.length; index++) {
    const currentSize = size(values[index]);
    if (currentSize !== currentSize || (best.length === count && currentSize <= size(values[best.at(-1)]))) continue;
    let rank = best.length;
    while (rank > 0 && size(values[best[rank - 1]]) < currentSize) rank--;
    best.splice(rank, 0, index);
    if (best.length > count) best.pop();
  }
  return best;
}
