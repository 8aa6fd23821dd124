// Reasons why a typed number is wrong. Each function compares it with the results of known mistakes and returns a phrase
// key with its values, or null if no mistake fits.

import { pickColumn, averageNumbers, multiply } from './matrices.js';
import { isNear } from '../parts/sums.js';

/** @typedef {[string, Record<string, string | number>?]} Reason */

/** The first reason whose number is near the typed one. `candidates`: pairs of a wrong number and its reason. */
function firstNear(value, candidates) {
  const match = candidates.find(([number]) => isNear(value, number));
  return match ? match[1] : null;
}

/** A number from the row of another word in the table. */
export function wrongWord(value, table, words, word, column) {
  const other = words.find((name, index) => name !== word && isNear(value, table[index][column]));
  return other === undefined ? null : ['build_wrong_row_of', { word: other }];
}

/** A product of a row and a column: a missing product, a wrong sign, another column, another matrix. */
export function wrongProduct(value, left, right, row, column, otherMatrix = null) {
  const products = left[row].map((number, index) => number * right[index][column]);
  const result = products.reduce((total, number) => total + number, 0);
  const large = products.map((product, index) => ({ product, index })).filter(({ product }) => Math.abs(product) > 0.03);
  const missing = large.find(({ product }) => isNear(value, result - product));
  if (missing) return ['build_wrong_missing', { number: missing.index + 1, count: products.length }];
  const sign = large.find(({ product }) => isNear(value, result - 2 * product));
  if (sign) return ['build_wrong_sign', { number: sign.index + 1 }];
  const otherColumns = right[0].map((_, index) => index).filter((index) => index !== column);
  return firstNear(value, [
    ...otherColumns.map((index) => [multiply([left[row]], right)[0][index], ['build_wrong_column']]),
    ...(otherMatrix ? [[multiply([left[row]], otherMatrix)[0][column], ['build_wrong_key']]] : []),
  ]);
}

/** A score: one product only, scaled too early, rows and columns confused, another column. */
export function wrongScore(value, queries, keys, row, column, words) {
  const [first, second] = queries[row].map((number, index) => number * keys[column][index]);
  const score = first + second;
  const scores = keys.map((key) => queries[row][0] * key[0] + queries[row][1] * key[1]);
  const other = words.findIndex((_, index) => index !== column && isNear(value, scores[index]));
  return firstNear(value, [
    ...[first - second, second - first, -score].map((number) => [number, ['build_wrong_signs']]),
    ...[first, second].map((number) => [number, ['build_wrong_one_product']]),
    [score / Math.SQRT2, ['build_wrong_too_soon']],
    [queries[column][0] * keys[row][0] + queries[column][1] * keys[row][1], ['build_wrong_asks', { word: words[column] }]],
    ...(other < 0 ? [] : [[scores[other], ['build_wrong_column_of', { word: words[other] }]]]),
  ]);
}

export const wrongScaled = (value, score) =>
  firstNear(value, [
    [score / 2, ['build_wrong_half']],
    [score * Math.SQRT2, ['build_wrong_times']],
    [score, ['build_wrong_unscaled']],
  ]);

export const wrongPower = (value, score) =>
  firstNear(value, [
    [score, ['build_wrong_is_score']],
    [2 ** score, ['build_wrong_two']],
    [Math.exp(Math.abs(score)), ['build_wrong_negative_power']],
  ]);

export const wrongPowerSum = (value, scores) =>
  firstNear(value, [[scores.reduce((total, score) => total + score, 0), ['build_wrong_sum_of_scores']]]);

export function wrongShare(value, scores, index) {
  const total = scores.reduce((sum, score) => sum + score, 0);
  return firstNear(value, [
    [scores[index] / total, ['build_wrong_score_share']],
    [Math.exp(scores[index]), ['build_wrong_is_power']],
    [1 / scores.length, ['build_wrong_equal']],
  ]);
}

export const wrongMixture = (value, values, row, column) =>
  firstNear(value, [
    [averageNumbers(pickColumn(values, column)), ['build_wrong_average']],
    [values[row][column], ['build_wrong_own_value']],
  ]);

export const wrongAddition = (value, a, b) =>
  firstNear(value, [
    [a - b, ['build_wrong_subtracted']],
    [b - a, ['build_wrong_subtracted']],
    [a * b, ['build_wrong_multiplied']],
  ]);

export const wrongMean = (value, numbers) => firstNear(value, [[averageNumbers(numbers) * numbers.length, ['build_wrong_is_sum']]]);

export const wrongSpread = (value, spread, count) =>
  firstNear(value, [
    [spread * spread, ['build_wrong_variance']],
    [spread * Math.sqrt(count / (count - 1)), ['build_wrong_less_one']],
  ]);

export const wrongNormed = (value, number, mean, spread) =>
  firstNear(value, [
    [number / spread, ['build_wrong_mean_first']],
    [(number - mean) / spread ** 2, ['build_wrong_by_variance']],
    [number - mean, ['build_wrong_not_divided']],
  ]);

export const wrongHidden = (value, product) => (product < 0 && isNear(value, product) ? ['build_wrong_relu'] : null);

export const wrongProbability = (value, logit) => firstNear(value, [[logit, ['build_wrong_logit']]]);

/**
 * Numbers of mistakes in a drawn mask. `shown`: open cells that give the answer away. `early` and `own`: masked cells of
 * earlier words and of the row's own word, which the row may see. A row reads word `row` and writes word `row + 1`.
 */
export function maskMistakes(count, isMasked) {
  const cells = Array.from({ length: count * count }, (_, index) => [Math.floor(index / count), index % count]);
  return {
    shown: cells.filter(([row, column]) => column > row && !isMasked(row, column)).length,
    early: cells.filter(([row, column]) => column < row && isMasked(row, column)).length,
    own: cells.filter(([row, column]) => column === row && isMasked(row, column)).length,
  };
}

/** The phrase of a drawn mask; `build_mask_right` if nothing is wrong. */
export function maskReason({ shown, early, own }) {
  if (own) return ['build_mask_own'];
  if (early) return ['build_mask_early'];
  return shown ? ['build_mask_shown', { count: shown }] : ['build_mask_right'];
}
