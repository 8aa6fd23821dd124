// Converts a token map to the displayed map: merges words, hides special tokens, rescales rows.

import { axisSide } from './translation.js';

/** Groups the tokens of an axis into items, one per word if `words` is set. `special`: whether to include special tokens. */
function groupTokens(tokens, text, { words, special }) {
  const items = [];
  for (const [index, token] of tokens.entries()) {
    const last = items.at(-1);
    if (words && last && token.word != null && token.word === last.word && !token.special) {
      last.places.push(index);
      last.label = last.full = text.slice(last.start, token.end);
      last.joined = false;
      last.unknown ||= token.unknown;
      continue;
    }
    items.push({ ...token, full: token.full ?? token.label, places: [index] });
    if (words) items.at(-1).joined = false;
  }
  return special ? items : items.filter((item) => !item.special);
}

const axesCache = new WeakMap(); // translation → axes by kind and display options, shared by all heads

/** The rows and columns of a kind's maps, as items. Cached. */
export function axes(translation, kind, options) {
  const key = [kind, Boolean(options.words), Boolean(options.special)].join();
  const cache = axesCache.get(translation) ?? axesCache.set(translation, new Map()).get(translation);
  if (!cache.has(key)) cache.set(key, makeAxes(translation, kind, options));
  return cache.get(key);
}

function makeAxes(translation, kind, options) {
  const getText = (name) => (axisSide(kind, name) === 'source' ? translation.source_text : translation.text);
  const items = (name) => groupTokens(translation[name](kind), getText(name), options);
  const allRows = groupTokens(translation.rows(kind), getText('rows'), { ...options, special: true });
  const rows = items('rows').map((item) => ({ ...item, read: findInputItem(translation, kind, item.places[0], allRows) }));
  return { rows, columns: items('columns') };
}

/**
 * The item that a decoder row reads: the previous row's, which may have several tokens. The query is computed from its
 * state. Null if the row reads its own token. `index`: position of the row's token; `items`: all rows.
 */
function findInputItem(translation, kind, index, items) {
  const inputToken = translation.previousToken(kind, index);
  if (inputToken === translation.rows(kind)[index]) return null;
  return items.find(({ places }) => inputToken.key.startsWith('t') && places.includes(index - 1)) ?? inputToken;
}

/**
 * @typedef {Omit<ReturnType<typeof view>, 'sums'> & { sums?: Float32Array | null, gaps?: boolean, effects?: Float32Array | null,
 *   rivals?: string[] | null, subject?: { word: string, rival: string } | null }} View
 *   `effects`: effect of each cell in nats, in the view Effect; `rivals`: each row's rival, if effects are on leads over it;
 *   `subject`: the target word on which effects of the encoder are measured, and its rival, "" if they are not on a lead;
 *   `gaps`: whether cells are empty because one of two sentences lacks a word
 * @typedef {import('./translation.js').Token} Token
 * @typedef {Token & { places: number[], read?: Token | null }} Item one or more tokens; `places`: their positions
 */

/** The displayed map of a head. `hidden` is the mean weight per row on hidden tokens. */
export function view(translation, kind, layer, head, options) {
  const map = translation.map(kind, layer, head);
  const { rows, columns } = axes(translation, kind, options);
  const properties = { kind, layer, head, rows, columns, maximum: head === 'max', masked: translation.masked(kind) };
  if (rows.length === map.rows && columns.length === map.columns) return { ...properties, weights: map.weights, hidden: 0 };
  const weights = new Float32Array(rows.length * columns.length);
  const sums = options.rescale && !options.special && head !== 'max' ? new Float32Array(rows.length).fill(1) : null;
  let hidden = 0;
  for (const [row, { places }] of rows.entries()) {
    let sum = 0;
    for (const [column, item] of columns.entries()) {
      const weight = reduceCells(map, places, item.places);
      weights[row * columns.length + column] = weight;
      if (weight === weight) sum += weight;
    }
    hidden += (1 - sum) / rows.length;
    if (sums && sum > 0) {
      sums[row] = sum;
      for (let column = 0; column < columns.length; column++) weights[row * columns.length + column] /= sum;
    }
  }
  return { ...properties, weights, hidden, sums };
}

/** @type {View} */
export const EMPTY_VIEW = {
  kind: 'cross',
  layer: 0,
  head: 0,
  rows: [],
  columns: [],
  maximum: false,
  masked: false,
  weights: new Float32Array(0),
  hidden: 0,
};

export const WEIGHT_ERROR = 5e-5; // maximum quantisation error of a weight

/**
 * Error bound of the combined weight of some rows and columns. Single weights of a head round correctly to four
 * decimals, because quantisation cells end where rounding changes (core/weight-decoding.js). Sums and means may not.
 */
export function computeErrorBound(view, weight, rows, columns) {
  const countTokens = (items) => items.reduce((count, { places }) => count + (places?.length ?? 1), 0);
  const [queries, keys] = [rows.map((row) => view.rows[row]), columns.map((column) => view.columns[column])];
  const isSingle = countTokens(queries) === 1 && countTokens(keys) === 1;
  const isAverage = !view.maximum && (view.layer === 'mean' || view.head === 'mean');
  const error = WEIGHT_ERROR * countTokens(keys);
  if (!view.sums) return isSingle && !isAverage ? 0 : error;
  const sumError = WEIGHT_ERROR * countTokens(view.columns); // the divisor of a rescaled row has an error, too
  return (error + weight * sumError) / Math.max(sumError, Math.min(...rows.map((row) => view.sums[row])) - sumError);
}

/** Formats a number with at most four decimals, such that both ends of its error interval round to the same text. */
export function formatCertain(number, error = 0) {
  for (let digits = 4; digits > 1; digits--) {
    const text = number.toFixed(digits);
    if (!error || [number - error, number + error].every((end) => Math.max(0, end).toFixed(digits) === text)) return text;
  }
  return number.toFixed(1);
}

/** Clamps a layer and head to those of a kind; 'mean' and 'max' stay. */
export function nearestHead(translation, kind, { layer, head }) {
  const clampIndex = (index, count) => (typeof index === 'number' ? Math.min(index, count - 1) : index);
  return { layer: clampIndex(layer, translation.layers(kind)), head: clampIndex(head, translation.heads(kind)) };
}

/** Sums weights over keys and averages over queries, so that rows still sum to one. NaN if all cells are masked. */
export function reduceCells(map, rows, columns) {
  let sum = 0;
  let isIncluded = false;
  for (const row of rows) {
    for (const column of columns) {
      const weight = map.weights[row * map.columns + column];
      if (weight !== weight) continue;
      sum += weight;
      isIncluded = true;
    }
  }
  return isIncluded ? sum / rows.length : NaN;
}

/** Largest weight of a row. */
export function rowMaximum({ weights, columns }, row) {
  let maximum = 0;
  for (let column = 0; column < columns.length; column++) {
    const weight = weights[row * columns.length + column];
    if (weight > maximum) maximum = weight;
  }
  return maximum;
}

/** Index of the largest value; NaN counts as zero. */
export function argMax(values) {
  let maxIndex = 0;
  for (let index = 1; index < values.length; index++) {
    if ((values[index] || 0) > (values[maxIndex] || 0)) maxIndex = index;
  }
  return maxIndex;
}

export const getRowWeights = ({ weights, columns }, row) => weights.subarray(row * columns.length, (row + 1) * columns.length);

/** Position of a weight on the colour scale, from 0 to 1. */
export function colourLevel(weight, maximum, scale) {
  if (scale === 'log') return Math.max(0, 1 + Math.log10(Math.max(weight, 1e-3)) / 3);
  if (scale === 'row') return maximum ? weight / maximum : 0;
  return weight;
}

export const twoDecimals = (number) => number.toFixed(2);
export const threeDecimals = (number) => number.toFixed(3);
export const fourDecimals = (number) => number.toFixed(4);
export const signed = (number, digits) => (number < 0 ? '−' : '+') + Math.abs(number).toFixed(digits);
/** Like `formatSigned`, with a plus sign in front of positive numbers. */
export const formatEffect = (number) => `${number > 0 ? '+' : ''}${formatSigned(number, 2)}`;
/** Formats with the minus sign U+2212; rounded zeros have no sign. */
export function formatSigned(number, digits = 4) {
  const text = number.toFixed(digits);
  return Number(text) === 0 ? text.replace('-', '') : text.replace('-', '−');
}
