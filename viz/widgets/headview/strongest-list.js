// The words with the largest weights in the highlighted row or column; without a highlight, the largest cells.

import { make, replace } from '../core/dom.js';
import { formatCertain, computeErrorBound, fourDecimals, twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { rowText } from '../parts/row-name.js';
import { getHighlightWeights } from './highlights.js';

const MAX_LISTED = 6; // cells of a map, or tokens of a row or column

/** Returns the function that draws the list. `sums`: whether to show the sum of the row. */
export function mountStrongestList(element, { sums = false } = {}) {
  element.classList.add('list');

  /** `highlight`: highlighted rows and columns; `comparing`: whether the listed head is B of a comparison. */
  return function list(source, view, highlight, comparing = false) {
    const { title, entries } = listEntries(source, view, highlight);
    const sortedEntries = entries.filter(([, weight]) => weight === weight).sort((a, b) => b[1] - a[1]);
    const fullWeight = source.relative ? Math.max(1e-9, sortedEntries[0]?.[1] ?? 0) : 1;
    const badge = comparing ? make('b', { class: 'second' }, 'B ') : null;
    const sum = sums && highlight.rows && !view.maximum ? sumUnmasked(getHighlightWeights(view, highlight).columns ?? []) : 0;
    const rows = sortedEntries.slice(0, MAX_LISTED).map(([name, weight, isMarked, text]) => {
      const bar = make('i', { style: `width:${(100 * Math.min(1, weight / fullWeight)).toFixed(2)}%` });
      const label = make('span', { title: name.textContent }, name);
      return make('div', { class: isMarked ? 'meant' : null }, label, make('span', {}, bar), make('span', { class: 'numeric' }, text));
    });
    const total = sum ? make('span', { class: 'quiet numeric' }, t('row_sums_to', { sum: twoDecimals(sum) })) : null;
    replace(element, make('h3', {}, make('span', {}, ...[badge, ...title].filter(Boolean)), total), ...rows);
  };
}

const sumUnmasked = (weights) => weights.reduce((all, weight) => all + (weight || 0), 0); // without masked cells

/** The name of an item with its number on the axis, if another item has the same name. */
export function addItemNumber(name, items, index) {
  const text = rowText(items[index]);
  if (items.every((item, other) => other === index || rowText(item) !== text)) return name;
  return make('span', {}, name, make('small', { class: 'item-number' }, ` ${index + 1}`));
}

function listEntries(source, view, highlight) {
  const defaults = source.defaultWeights?.(view);
  const highlightedWeights = getHighlightWeights(view, highlight);
  const weights = highlightedWeights.columns ?? highlightedWeights.rows ?? defaults;
  if (!weights) {
    const columnCount = view.columns.length;
    const itemName = (items, index) => addItemNumber(make('bdi', {}, items[index].label), items, index);
    const name = (cell) => {
      const [row, column] = [Math.floor(cell / columnCount), cell % columnCount];
      return make('span', {}, itemName(view.rows, row), ' → ', itemName(view.columns, column));
    };
    const markText = (cell) => formatWeight(view, view.weights[cell], [Math.floor(cell / columnCount)], [cell % columnCount]);
    const entries = findTopIndices(view.weights, MAX_LISTED).map((cell) => [name(cell), view.weights[cell], false, markText(cell)]);
    return { title: source.listTitle(view, highlight), entries };
  }
  const axis = highlightedWeights.rows ? 'rows' : 'columns';
  const markedColumns = highlight.rows ? highlight.columns : null; // if a cell is highlighted, its column is marked
  const cellText = (position) => {
    if (!highlightedWeights.columns && !highlightedWeights.rows) return fourDecimals(defaults[position]); // not quantised
    return formatWeight(
      view,
      weights[position],
      highlightedWeights.rows ? [position] : highlight.rows,
      highlightedWeights.rows ? highlight.columns : [position],
    );
  };
  const entries = findTopIndices(weights, MAX_LISTED).map((index) => [
    addItemNumber(source.longName?.(view, axis, [index]) ?? source.name(view, axis, [index]), view[axis], index),
    weights[index],
    markedColumns?.includes(index),
    cellText(index),
  ]);
  return { title: source.listTitle(view, highlight), entries };
}

const formatWeight = (view, weight, rows, columns) => formatCertain(weight, computeErrorBound(view, weight, rows, columns));

/** Indices of the `count` largest values, in descending order of `size`, without sorting all values. */
export function findTopIndices(values, count, size = (value) => value) {
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
