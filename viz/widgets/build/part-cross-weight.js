// One weight of cross-attention, calculated by hand from a query of the decoder and the keys of all Chinese words.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { argMax } from '../core/map-view.js';
import { transpose } from './matrices.js';
import { wrongPower, wrongProduct, wrongScaled, wrongShare } from './mistakes.js';
import { numberTable, SHARE_TOLERANCE } from './part-tables.js';
import { result } from './part-products.js';
import { formatNumber, formatProducts } from '../parts/sums.js';

/** The calculation of one weight in the row whose next word part 14 predicts. */
export function crossWeight({ data, fields }) {
  const row = data.answer.written_row;
  const numbers = (name) => data.printedHead(`cross.${name}`)[row];
  const keys = data.printedHead('cross.key');
  const [query, raw, scores, powers, weights] = ['query', 'raw', 'scores', 'powers', 'shares'].map(numbers);
  const total = data.printedHead('cross.totals')[row];
  const typedIndex = argMax(weights);
  const field = (name, number, label, mistake, options = {}) => fields.input(name, number, label, { ...options, mistake });
  const steps = (index, word) =>
    index === typedIndex
      ? [
          field('raw', raw[index], 'q · k', (value) => wrongProduct(value, [query], transpose(keys), 0, index)),
          field('score', scores[index], '÷ 1.414', (value) => wrongScaled(value, raw[index])),
          field('power', powers[index], t('build_power_of', { word }), (value) => wrongPower(value, scores[index])),
          field('weight', weights[index], t('build_weight_of', { word }), (value) => wrongShare(value, scores, index), {
            tolerance: SHARE_TOLERANCE,
          }),
        ]
      : [raw, scores, powers, weights].map((numbersOfStep) => formatNumber(numbersOfStep[index]));
  const [first, second] = transpose(keys);
  const rows = data.words.map((word, index) => [word, formatNumber(first[index]), formatNumber(second[index]), ...steps(index, word)]);
  const show = (name, text) => (fields.isSolved(name) ? text : '?');
  const names = ['', 'k₁', 'k₂', 'q · k', '÷ 1.414', 'eˢ', t('build_weight')];
  const table = numberTable(names, rows, [t('build_sum'), '', '', '', '', show('power', formatNumber(total)), '']);
  const known = make('p', { class: 'known-query' }, `q = (${query.map((number) => formatNumber(number)).join(', ')})`);
  return {
    ...table,
    element: make('div', { class: 'cross-weight' }, known, table.element),
    isByHand: true,
    start: [typedIndex, 0],
    sum: ([index]) => {
      const isTyped = index === typedIndex;
      const text = (name, number) => (isTyped ? show(name, formatNumber(number)) : formatNumber(number));
      return [
        `${formatProducts(query, keys[index])} = ${text('raw', raw[index])},  ${text('power', powers[index])} ÷ ${show('power', formatNumber(total))} = `,
        result(weights[index], isTyped && !fields.isSolved('weight')),
      ];
    },
    isLong: true,
  };
}
