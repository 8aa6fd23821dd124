// One row of a head, from products of query and keys to weights: `explain_row` of `viz/tabs/why.py`.

import { encodeArray } from './array-encoding.js';
import { isAllowed } from './attention.js';
import { replay } from './replay.js';

const MAX_SCORE = 12; // beyond it, exp(score) has too many digits to read
const MAX_LINES = 40; // keys with a line of their own

const round = (number) => Math.round(number * 1e6) / 1e6;

/** Keys with a line of their own, in order: the chosen key and those with the largest weights. */
function visibleKeys(weights, chosen, every) {
  const all = [...weights.keys()];
  if (every || all.length <= MAX_LINES) return all;
  const ranked = all.filter((key) => key !== chosen).sort((one, other) => weights[other] - weights[one]);
  const own = chosen === null ? [] : [chosen];
  return [...own, ...ranked.slice(0, MAX_LINES - own.length)].sort((one, other) => one - other);
}

/** Queries, keys, scores and weights of one row in a pass over the finished translation. */
function captureRow(model, translation, plain, { kind, layer, head, row }) {
  /** @type {any} */
  let captured = null;
  const changes = {
    ...plain,
    attention: (of, index) => {
      const edits = plain.attention?.(of, index);
      if (of !== kind || index !== layer) return edits;
      const observe = (queries, keys, scores, shape) => {
        const width = queries.length / shape.rows / shape.heads;
        const part = (array, at) => Array.from(array.subarray((at * shape.heads + head) * width, (at * shape.heads + head + 1) * width));
        const at = (head * shape.rows + row) * shape.keys;
        captured = {
          query: part(queries, row),
          keys: Array.from({ length: shape.keys }, (_, key) => part(keys, key)),
          scores: Array.from(scores.subarray(at, at + shape.keys)),
          allowed: Array.from({ length: shape.keys }, (_, key) => isAllowed(shape, row, key)),
        };
      };
      return { ...edits, observe };
    },
  };
  replay(model, translation, changes, { decodes: kind !== 'encoder' });
  return captured;
}

/**
 * @param {import('./translator.js').Model} model
 * @param {any} translation
 * @param {import('./transformer.js').Changes} changes of its request
 * @param {{ kind: 'encoder' | 'decoder' | 'cross', layer: number, head: number, row: number, column: number | null, every?: boolean }} cell
 */
export function explainRow(model, translation, changes, cell) {
  const { query, keys, scores, allowed } = captureRow(model, translation, changes, cell);
  const map = translation.maps[cell.kind][cell.layer];
  const rows = (cell.kind === 'encoder' ? translation.source : translation.target).length;
  const at = (cell.head * rows + cell.row) * keys.length;
  const weights = Array.from(map.subarray(at, at + keys.length));
  const own = visibleKeys(weights, cell.column ?? null, Boolean(cell.every));
  const possible = scores.filter((_, key) => allowed[key]);
  const largest = Math.max(...possible);
  const sum = possible.reduce((total, score) => total + Math.exp(score), 0);
  const shift = possible.length && (largest > MAX_SCORE || (sum > 0 && sum < 1)) ? largest : 0;
  const powers = scores.map((score, key) => (allowed[key] ? Math.exp(score - shift) : 0));
  const divisor = model.config.scale_scores ? Math.sqrt(query.length) : 1;
  return {
    own,
    query: encodeArray([query.length], query),
    keys: encodeArray(
      [own.length, query.length],
      own.flatMap((key) => keys[key]),
    ),
    divisor: divisor > 1 ? round(divisor) : null,
    sums: keys.map((key) => round(key.reduce((total, number, index) => total + number * query[index], 0))),
    scores: scores.map(round),
    bias: null,
    allowed,
    shift: round(shift),
    powers: powers.map(round),
    total: round(powers.reduce((total, power) => total + power, 0)),
    weights: weights.map(round),
  };
}
