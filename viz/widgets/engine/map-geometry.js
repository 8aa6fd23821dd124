// Positions, masks and classes of tokens of a kind's maps, and the entropy of rows: `model/measures/statistics.py`.

import { category, strip } from './characters.js';

/**
 * @typedef {import('./attention.js').Kind} Kind
 * @typedef {import('./tokenizer.js').Token} Token
 * @typedef {{ source: Token[], target: Token[], start: Token, hidden: number[], text: string, sourceText: string,
 *   maps: Record<Kind, Float32Array[]>, heads: number }} Captured a translation with its maps, [head, row, column] of each layer
 * @typedef {{ kind: Kind, rows: number, columns: Token[], allowed: Uint8Array, several: boolean[], offset: Float64Array }} Geometry
 *   `allowed` and `offset`: [row, column]; `several`: rows with at least two allowed keys
 */

function isPunctuation({ special, text }) {
  const stripped = special ? '' : strip(text);
  return stripped !== '' && Array.from(stripped).every((character) => category(character) === 'P');
}

/** Keys that are punctuation. */
export const punctuationKeys = (columns) => columns.map(isPunctuation);

/**
 * @param {Captured} translation
 * @param {Kind} kind
 * @returns {Geometry}
 */
export function mapGeometry({ source, target, start, hidden }, kind) {
  const columns = kind === 'decoder' ? [start, ...target.slice(0, -1)] : source;
  const rows = (kind === 'encoder' ? source : target).length;
  const count = columns.length;
  const allowed = new Uint8Array(rows * count);
  const offset = new Float64Array(rows * count);
  const slope = rows > 1 ? (count - 1) / (rows - 1) : 0;
  for (let row = 0; row < rows; row++) {
    const middle = kind !== 'cross' ? row : rows > 1 ? row * slope : (count - 1) / 2;
    for (let column = 0; column < count; column++) {
      const at = row * count + column;
      offset[at] = column - Math.fround(middle);
      allowed[at] = (kind === 'decoder' ? column <= row : !hidden.includes(column)) ? 1 : 0;
    }
  }
  const several = Array.from(
    { length: rows },
    (_, row) => allowed.subarray(row * count, (row + 1) * count).reduce((sum, cell) => sum + cell, 0) > 1,
  );
  return { kind, rows, columns, allowed, several, offset };
}

/** The entropy of a row in bits. */
export function rowEntropy(row) {
  let bits = 0;
  for (const weight of row) if (weight > 0) bits -= weight * Math.log2(weight);
  return Math.max(bits, 0);
}

/** The mean of `value(row)` over some rows; NaN without rows. */
export function meanOverRows(included, value) {
  let [total, count] = [0, 0];
  included.forEach((isIncluded, row) => {
    if (!isIncluded) return;
    total += value(row);
    count++;
  });
  return count ? total / count : NaN;
}
