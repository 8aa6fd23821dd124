// The parts that calculate one row, as tables (÷ √d, softmax, layer norm, next word), and the two parts that add matrices.

import { make, isNarrow } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { applySoftmax, addUp } from './matrices.js';
import {
  wrongAddition,
  wrongMean,
  wrongNormed,
  wrongPower,
  wrongPowerSum,
  wrongProbability,
  wrongScaled,
  wrongShare,
  wrongSpread,
} from './mistakes.js';
import { lossLines } from './loss-lines.js';
import { columnsToType, result } from './part-products.js';
import { positionFormula } from './position-formula.js';
import { additionScheme, highlightAddends } from './product-scheme.js';
import { decimals, formatLarge, formatNumber, formatTerm } from '../parts/sums.js';
import { wordName } from './word-name.js';

export const SHARE_TOLERANCE = 0.0101; // shares are typed with two decimals; an error of one unit in the last place is accepted
const SUM_TOLERANCE = 0.06; // rounding error accepted in a sum of six numbers
const CANDIDATE_COUNT = 6; // candidates for the next word that are listed
const ADDED_FIELDS = 3; // sums that the reader types

/** The row's scores before and after the division, with the weights that softmax makes of them. */
export function scale({ data, fields }) {
  const before = data.printedHead('encoder.raw')[data.row];
  const after = data.printedHead('encoder.scores')[data.row];
  const typedIndices = columnsToType(before);
  const [weightsBefore, weightsAfter] = [applySoftmax(before), data.printedHead('encoder.shares')[data.row]];
  const rows = data.words.map((word, index) => [
    word,
    formatNumber(before[index]),
    typedIndices.includes(index)
      ? fields.input(`${index}`, after[index], word, { mistake: (value) => wrongScaled(value, before[index]) })
      : formatNumber(after[index]),
    formatNumber(weightsBefore[index]),
    formatNumber(weightsAfter[index]),
  ]);
  return {
    ...numberTable(['', 'q · k', '÷ 1.414', t('build_weight_before'), t('build_weight_after')], rows),
    sum: ([row], isHidden) => [`${formatNumber(before[row])} ÷ 1.414 = `, result(after[row], isHidden)],
    keyAt: ([row]) => `${row}`,
  };
}

/** One row of softmax by hand. */
export function softmax({ data, fields }) {
  const scores = data.printedHead('encoder.scores')[data.row];
  const powers = data.printedHead('encoder.powers')[data.row];
  const total = data.printedHead('encoder.totals')[data.row];
  const weights = data.printedHead('encoder.shares')[data.row];
  const typedIndices = columnsToType(scores);
  const power = (index, word) =>
    typedIndices.slice(0, 2).includes(index)
      ? fields.input(`power${index}`, powers[index], t('build_power_of', { word }), {
          mistake: (value) => wrongPower(value, scores[index]),
        })
      : formatNumber(powers[index]);
  const weight = (index, word) =>
    typedIndices.includes(index)
      ? fields.input(`weight${index}`, weights[index], t('build_weight_of', { word }), {
          tolerance: SHARE_TOLERANCE,
          mistake: (value) => wrongShare(value, scores, index),
        })
      : formatNumber(weights[index]);
  const rows = data.words.map((word, index) => {
    const cells = [word, formatNumber(scores[index]), power(index, word), weight(index, word)];
    return [...cells, bar(fields.isSolved(`weight${index}`) ? weights[index] / Math.max(...weights) : 0)];
  });
  const totalField = fields.input('total', total, t('build_sum'), {
    tolerance: SUM_TOLERANCE,
    mistake: (value) => wrongPowerSum(value, scores),
  });
  return {
    ...numberTable(['', t('build_score'), 'eˢ', t('build_weight'), ''], rows, [t('build_sum'), '', totalField, sumText(weights), '']),
    sum: ([row]) => {
      const show = (key, text) => (fields.isSolved(key) ? text : '?');
      const [powerText, totalText] = [show(`power${row}`, formatNumber(powers[row])), show('total', formatNumber(total))];
      return [
        'e',
        make('sup', {}, formatNumber(scores[row])),
        ` = ${powerText},  ${powerText} ÷ ${totalText} = `,
        result(weights[row], !fields.isSolved(`weight${row}`)),
      ];
    },
  };
}

/** The sum of rounded weights, which may differ from 1 by a hundredth. */
const sumText = (weights) => (formatNumber(addUp(weights)) === '1.00' ? '1.00' : '≈ 1');

/** Mean, standard deviation and two normed numbers of one word. */
export function norm({ data, fields }) {
  const [x, centred, normed] = ['added', 'centred', 'normed'].map((name) => data.printed(`encoder.${name}`)[data.row]);
  const [mean, spread] = ['mean', 'spread'].map((name) => data.printed(`encoder.${name}`)[data.row]);
  const meanField = fields.input('mean', mean, t('build_mean'), { mistake: (value) => wrongMean(value, x) });
  const spreadField = fields.input('spread', spread, t('build_spread'), {
    mistake: (value) => wrongSpread(value, spread, x.length),
  });
  const rows = x.map((number, index) => [
    String(index + 1),
    formatNumber(number),
    fields.isSolved('mean') ? formatNumber(centred[index]) : '·',
    index < 2
      ? fields.input(`${index}`, normed[index], t('build_field', { word: data.word, number: index + 1 }), {
          mistake: (value) => wrongNormed(value, number, mean, spread),
        })
      : formatNumber(normed[index]),
  ]);
  return {
    ...numberTable(['', 'x', 'x − μ', '÷ σ'], rows, ['μ', meanField, 'σ', spreadField]),
    sum: ([row]) => {
      const show = (key, value) => (fields.isSolved(key) ? formatTerm(Number(value.toFixed(2))) : '?');
      return [
        `(${formatNumber(x[row])} − ${show('mean', mean)}) ÷ ${show('spread', spread)} = `,
        result(normed[row], !fields.isSolved(`${row}`)),
      ];
    },
  };
}

/** The probabilities of the next word. */
export function next({ data, fields }) {
  const writtenRow = data.answer.written_row;
  const [logits, powers, probabilities] = ['logits', 'next.powers', 'next.shares'].map((name) => data.printed(name)[writtenRow]);
  const total = data.printed('next.totals')[writtenRow];
  const names = data.answer.target_words;
  const best = [...logits.keys()].sort((a, b) => logits[b] - logits[a]).slice(0, CANDIDATE_COUNT);
  const rows = best.map((id, index) => [
    wordName(names[id]),
    formatNumber(logits[id]),
    formatLarge(powers[id]),
    index < 2
      ? fields.input(`${index}`, probabilities[id], names[id], {
          tolerance: SHARE_TOLERANCE,
          mistake: (value) => wrongProbability(value, logits[id]),
        })
      : formatNumber(probabilities[id]),
    bar(fields.isSolved(`${index}`) ? probabilities[id] : 0),
  ]);
  const table = numberTable(['', 'logit', 'eˡᵒᵍⁱᵗ', 'p', ''], rows);
  return {
    ...table,
    element: make('div', {}, table.element, lossLines(data, fields.isSolved('0'))),
    sum: ([row], isHidden) => [`${formatLarge(powers[best[row]])} ÷ ${formatLarge(total)} = `, result(probabilities[best[row]], isHidden)],
    values: { total: formatLarge(total) },
    keyAt: ([row]) => `${row}`,
  };
}

const bar = (share) => make('span', { class: 'bar', 'aria-hidden': 'true', style: `width: ${share ? Math.max(1, share * 100) : 0}%` });

/** A table of numbers that highlights the row under the pointer. */
export function numberTable(names, rows, foot = null) {
  const cells = (row, tag) => row.map((cell, index) => make(index ? tag : 'th', index ? {} : { scope: 'row' }, cell));
  const body = rows.map((row, index) => make('tr', { data: { cell: `${index},0` } }, ...cells(row, 'td')));
  const element = make(
    'table',
    { class: 'number-table' },
    make('thead', {}, make('tr', {}, ...names.map((name) => (name ? make('th', { scope: 'col' }, name) : make('td', {}))))),
    make('tbody', {}, ...body),
    foot ? make('tfoot', {}, make('tr', {}, ...cells(foot, 'td'))) : null,
  );
  return {
    element,
    highlight: (cell) => {
      for (const row of element.querySelectorAll('tr.at')) row.classList.remove('at');
      if (cell) element.querySelector(`tr[data-cell="${cell[0]},0"]`)?.classList.add('at');
    },
  };
}

/** A word's numbers plus its positional encoding. */
export function positions({ data, fields }) {
  const names = [t('build_word'), t('build_place'), 'x'];
  const sum = addition(data, fields, data.embedded, data.positions, data.trace('encoder.x'), names);
  return { ...sum, element: make('div', {}, sum.element, positionFormula(data)) };
}

/** A word's numbers plus the result of attention. */
export function residual({ data, fields }) {
  const received = data.printed('encoder.received');
  return addition(data, fields, data.trace('encoder.x'), received, data.printed('encoder.added'), ['x', t('build_attention'), 'x + a']);
}

function addition(data, fields, a, b, sum, names) {
  const pickShown = (matrix) => (isNarrow() ? [matrix[data.row]] : matrix); // a phone shows one row
  const rowIndex = isNarrow() ? 0 : data.row;
  const [left, right, total] = [a, b, sum].map(pickShown);
  const element = additionScheme({
    a: left,
    b: right,
    sum: total,
    names,
    rows: pickShown(data.words).map((word) => [word]),
    askingRow: rowIndex,
    field: (row, column) =>
      row === rowIndex && column < ADDED_FIELDS
        ? fields.input(`${column}`, total[row][column], t('build_field', { word: data.word, number: column + 1 }), {
            digits: decimals(total[row][column]),
            mistake: (value) => wrongAddition(value, left[row][column], right[row][column]),
          })
        : null,
    cellName: (row, column) => `${pickShown(data.words)[row]}, ${column + 1}`,
  });
  return {
    element,
    highlight: (cell) => highlightAddends(element, cell),
    sum: ([row, column], isHidden) => [
      `${formatTerm(Number(left[row][column].toFixed(2)), true)} + ${formatTerm(Number(right[row][column].toFixed(2)))} = `,
      result(total[row][column], isHidden),
    ],
    start: [rowIndex, 0],
  };
}
