// The parts that multiply matrices: words, q k v, scores, values and two heads.

import { make, isNarrow } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { pickColumn, multiply, transpose } from './matrices.js';
import { wrongMixture, wrongProduct, wrongScore, wrongWord } from './mistakes.js';
import { highlightCell, matrixName, productScheme } from './product-scheme.js';
import { formatNumber, formatProducts, formatTerm } from '../parts/sums.js';

const MAX_NARROW_CELLS = 9; // columns that fit on a phone
const MAX_TERMS = 4; // terms of a long sum that are shown

/** One-hot rows times the table of words. */
export function words({ data, fields }) {
  const table = data.weight('source_table');
  const names = data.answer.source_words;
  const oneHot = data.words.map((word) => names.map((name) => Number(name === word)));
  const operation = product(data, {
    left: oneHot,
    top: table,
    whole: true,
    topRows: names,
    captions: { top: matrixName('E', '8×4'), result: matrixName('x') },
    field: (row, column) =>
      row === data.row && column < 2
        ? fields.input(`${column}`, data.embedded[row][column], t('build_field', { word: data.word, number: column + 1 }), {
            digits: 1,
            mistake: (value) => wrongWord(value, table, names, data.word, column),
          })
        : null,
    sum: (row, column, isHidden) => [
      make('span', { class: 'word' }, data.words[row]),
      `: 1 × ${formatTerm(data.embedded[row][column])} = `,
      result(data.embedded[row][column], isHidden),
    ],
  });
  if (operation.isTooWide) operation.element = make('div', {}, oneHotRow(data, oneHot[data.row]), operation.element);
  return operation;
}

/** Only the one-hot row of the word, for a phone, where the whole matrix does not fit. */
const oneHotRow = (data, row) =>
  make('p', { class: 'one-hot' }, t('build_one_hot', { word: data.word }), ...row.map((number) => make('span', {}, String(number))));

const MATRICES = { q: 'query', k: 'key', v: 'value' };

/** x times the matrix of queries, keys or values. */
export function qkv({ data, fields, view }) {
  const x = data.trace('encoder.x');
  const matrix = data.headWeight(`encoder.${MATRICES[view]}`);
  const keys = data.headWeight('encoder.key');
  return product(data, {
    left: x,
    top: matrix,
    captions: { left: matrixName(t('build_x_is')), top: matrixName(`W_${view}`, '4×2'), result: matrixName(view, '6×2') },
    values: { part: data.partNumber('positions') },
    field: (row, column) =>
      view === 'q' && row === data.row
        ? fields.input(`${column}`, multiply(x, matrix)[row][column], t('build_field', { word: data.word, number: column + 1 }), {
            mistake: (value) => wrongProduct(value, x, matrix, row, column, keys),
          })
        : null,
  });
}

/** Queries times keys. */
export function scores({ data, fields }) {
  const queries = data.ofHead('encoder.query');
  const keys = data.ofHead('encoder.key');
  const raw = data.printedHead('encoder.raw');
  const columns = columnsToType(raw[data.row]);
  return product(data, {
    left: queries,
    top: transpose(keys),
    result: raw,
    columns: data.words,
    captions: { left: matrixName('q', '6×2'), top: matrixName('kᵀ', '2×6') },
    field: (row, column) =>
      row === data.row && columns.includes(column)
        ? fields.input(`${column}`, raw[row][column], t('build_pair', { row: data.word, column: data.words[column] }), {
            mistake: (value) => wrongScore(value, queries, keys, row, column, data.words),
          })
        : null,
  });
}

/** The columns whose numbers a reader types: the largest, the smallest and the middle one of a row. */
export function columnsToType(row) {
  const order = [...row.keys()].sort((a, b) => row[b] - row[a]);
  return [order[0], order[Math.floor(order.length / 2)], order[order.length - 1]];
}

/** Weights times values. */
export function mix({ data, fields }) {
  const weights = data.printedHead('encoder.shares');
  const values = data.ofHead('encoder.value');
  const mixed = data.printedHead('encoder.mixed');
  return product(data, {
    left: weights,
    top: values,
    result: mixed,
    topRows: data.words,
    captions: { left: matrixName(t('build_weights'), '6×6'), top: matrixName('v', '6×2') },
    size: 'wide',
    field: (row, column) =>
      row === data.row
        ? fields.input(`${column}`, mixed[row][column], t('build_field', { word: data.word, number: column + 1 }), {
            mistake: (value) => wrongMixture(value, values, row, column),
          })
        : null,
    sum: (row, column, isHidden) => largestTerms(weights[row], pickColumn(values, column), mixed[row][column], isHidden),
  });
}

/** The largest terms of a sum, in descending order of their weight; terms of weight 0 are left out. */
function largestTerms(row, column, total, isHidden) {
  const present = [...row.keys()].filter((index) => row[index] > 0);
  const order = present.sort((a, b) => row[b] - row[a]).slice(0, MAX_TERMS);
  const terms = order.map((index) => `${formatNumber(row[index])} × ${formatTerm(Number(column[index].toFixed(2)))}`);
  return [`${terms.join(' + ')}${present.length > order.length ? ' + …' : ''} = `, result(total, isHidden)];
}

/** The joined results of both heads times W_O. */
export function heads({ data, fields }) {
  const joined = data.printed('encoder.joined');
  const received = data.printed('encoder.received');
  const matrix = data.weight('encoder.joined');
  return product(data, {
    left: joined,
    top: matrix,
    result: received,
    captions: { left: matrixName(t('build_both_heads'), '6×4'), top: matrixName('W_O', '4×4') },
    field: (row, column) =>
      row === data.row && column < 2
        ? fields.input(`${column}`, received[row][column], t('build_field', { word: data.word, number: column + 1 }), {
            mistake: (value) => wrongProduct(value, joined, matrix, row, column),
          })
        : null,
  });
}

/**
 * A scheme with its sum line.
 * @param {any} data
 * @param {any} options options of the scheme; `sum(row, column, isHidden)` returns the children of the sum line
 */
export function product(data, { sum, values, ...scheme }) {
  const products = scheme.result ?? multiply(scheme.left, scheme.top);
  const isTooWide = isNarrow() && scheme.left[0].length + products[0].length > MAX_NARROW_CELLS;
  const element = productScheme({
    rows: data.words.map((word) => [word]),
    askingRow: data.row,
    cellName: (row, column) => `${data.words[row]}, ${scheme.columns?.[column] ?? column + 1}`,
    ...scheme,
    left: isTooWide ? undefined : scheme.left,
    result: products,
  });
  return {
    element,
    values,
    isTooWide,
    highlight: (cell) => highlightCell(element, cell),
    sum: ([row, column], isHidden) =>
      sum
        ? sum(row, column, isHidden)
        : [
            `${formatProducts(scheme.left[row].map(roundNumber), pickColumn(scheme.top, column).map(roundNumber))} = `,
            result(products[row][column], isHidden),
          ],
    isLong: scheme.left[0].length > 3,
  };
}

export const roundNumber = (number) => Number(number.toFixed(2));

/** The result of a sum; a question mark until the reader has found it. */
export const result = (number, isHidden) => make('b', {}, isHidden ? '?' : formatNumber(number));
