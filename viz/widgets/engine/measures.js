// Measures of each head's map, such as entropy and distance: `model/measures/statistics.py`.

import { encodeWeights } from './weight-encoding.js';
import { mapGeometry, meanOverRows, punctuationKeys, rowEntropy } from './map-geometry.js';
import { tables } from './tables.js';

/** @typedef {import('./map-geometry.js').Geometry} Geometry */

/** A function from the map of one head, [row, column], to a number. */
function measureFunctions(geometry) {
  const { rows, columns, allowed, several, offset } = geometry;
  const count = columns.length;
  const near = tables.max_diagonal_distance;
  const rowAt = (map, row) => map.subarray(row * count, (row + 1) * count);
  const overRow = (row, use) => {
    let total = 0;
    for (let at = row * count; at < (row + 1) * count; at++) total += use(at);
    return total;
  };
  const allowedCount = Array.from({ length: rows }, (_, row) => overRow(row, (at) => allowed[at]));
  const farthest = Array.from({ length: rows }, (_, row) => {
    let largest = 0;
    for (let at = row * count; at < (row + 1) * count; at++) if (allowed[at]) largest = Math.max(largest, Math.abs(offset[at]));
    return largest;
  });
  const meanDistance = (map, row) => overRow(row, (at) => map[at] * Math.abs(offset[at]));
  const share = (isCell) => {
    const cells = Uint8Array.from(allowed, (cell, at) => (cell && isCell(at) ? 1 : 0));
    const included = several.map((isIncluded, row) => isIncluded && overRow(row, (at) => cells[at]) > 0);
    return (map) => meanOverRows(included, (row) => overRow(row, (at) => (cells[at] ? map[at] : 0)));
  };
  const isPunctuation = punctuationKeys(columns);
  return {
    entropy: (map) => meanOverRows(several, (row) => rowEntropy(rowAt(map, row))),
    relative_entropy: (map) => meanOverRows(several, (row) => rowEntropy(rowAt(map, row)) / Math.log2(Math.max(2, allowedCount[row]))),
    peak: (map) => meanOverRows(several, (row) => rowAt(map, row).reduce((largest, weight) => Math.max(largest, weight), 0)),
    distance: (map) => meanOverRows(several, (row) => meanDistance(map, row)),
    diagonality: (map) =>
      meanOverRows(
        several.map((isIncluded, row) => isIncluded && farthest[row] > 0),
        (row) => 1 - meanDistance(map, row) / farthest[row],
      ),
    same: share((at) => Math.abs(offset[at]) <= near),
    previous: share((at) => offset[at] >= -1 - near && offset[at] < -near),
    next: share((at) => offset[at] > near && offset[at] <= 1 + near),
    first: share((at) => at % count === 0),
    last: share((at) => at % count === count - 1),
    punctuation: share((at) => isPunctuation[at % count]),
    special: share((at) => columns[at % count].special),
  };
}

/** The maps of all heads, layer by layer. */
export const mapsOfHeads = (layers, heads) =>
  layers.flatMap((layer) =>
    Array.from({ length: heads }, (_, head) => layer.subarray((head * layer.length) / heads, ((head + 1) * layer.length) / heads)),
  );

/**
 * The measures of a kind as the page receives them: unit, scale, and a letter for each head; a space means NaN.
 * @param {import('./map-geometry.js').Captured} translation
 * @param {import('./attention.js').Kind} kind
 * @returns {Record<string, import('messages').MeasureValues>}
 */
export function measureValues(translation, kind) {
  const functions = measureFunctions(mapGeometry(translation, kind));
  const maps = mapsOfHeads(translation.maps[kind], translation.heads);
  const applicable = Object.entries(tables.measures).filter(([, [, kinds]]) => kinds.includes(kind));
  return Object.fromEntries(
    applicable.map(([name, [unit]]) => {
      const values = maps.map((map) => Math.round(functions[name](map) * 1e6) / 1e6);
      const largest = values.reduce((most, value) => (value > most ? value : most), 1);
      const scale = 10 ** Math.ceil(Math.log10(largest));
      const letters = values.map((value) =>
        Number.isNaN(value) ? ' ' : encodeWeights([Float64Array.of(value / scale)], { columns: 1, causal: false }),
      );
      return [name, [unit, scale, letters.join('')]];
    }),
  );
}
