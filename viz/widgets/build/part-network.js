// The feed-forward network: its two products with the ReLU between them.

import { isNarrow, make } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { multiply, pickColumn } from './matrices.js';
import { wrongHidden, wrongProduct } from './mistakes.js';
import { product, result, roundNumber } from './part-products.js';
import { matrixName, withSubscripts } from './product-scheme.js';
import { formatNumber, formatProducts } from '../parts/sums.js';

/** max(0, x·W₁), and one number of the second product. */
export function network({ data, fields }) {
  const x = data.printed('encoder.normed');
  const matrix = data.weight('encoder.inner');
  const products = multiply(x, matrix);
  const hidden = data.printed('encoder.hidden');
  const negative = products[data.row].findIndex((number) => number < -0.05);
  const positive = products[data.row].findIndex((number) => number > 0.05);
  const operation = product(data, {
    left: x,
    top: matrix,
    result: hidden,
    captions: { left: matrixName('x', '6×4'), top: matrixName('W_1', '4×8'), result: matrixName('h', '6×8') },
    size: 'wide',
    field: (row, column) =>
      row === data.row && [negative, positive].includes(column)
        ? fields.input(`${column}`, hidden[row][column], t('build_field', { word: data.word, number: column + 1 }), {
            mistake: (value) => wrongHidden(value, products[row][column]) ?? wrongProduct(value, x, matrix, row, column),
          })
        : null,
    sum: (row, column, isHidden) => {
      const sum = formatProducts(x[row].map(roundNumber), pickColumn(matrix, column));
      return [`max(0, ${sum}) = `, result(hidden[row][column], isHidden)];
    },
  });
  return { ...operation, element: make('div', {}, operation.element, outerProduct({ data, fields })) };
}

/** The column of W₂ that gives the word's largest number in absolute value. */
export function outerColumn(data) {
  const sizes = data.printed('encoder.network.received')[data.row].map(Math.abs);
  return sizes.indexOf(Math.max(...sizes));
}

/** The row of h above a column of W₂, with a field for their dot product. */
function outerProduct({ data, fields }) {
  const column = outerColumn(data);
  const hidden = data.printed('encoder.hidden')[data.row];
  const outer = data.weight('encoder.outer');
  const field = fields.input('outer', data.printed('encoder.network.received')[data.row][column], t('build_outer'), {
    mistake: (value) => wrongProduct(value, [hidden], outer, 0, column),
  });
  const line = (name, numbers, end) => [
    make('span', { class: 'row-word' }, ...name),
    ...numbers.map((text) => make('span', { class: 'cell' }, text)),
    ...end,
  ];
  const values = hidden.map((number, index) => (fields.isSolved(`${index}`) ? formatNumber(number) : '?'));
  const weights = pickColumn(outer, column).map((number) => formatNumber(number, 1));
  const template = `max-content repeat(${hidden.length}, var(--cell))${isNarrow() ? '' : ' 54px'}`;
  return make(
    'div',
    { class: 'product outer-product', role: 'group', style: `grid-template-columns: ${template}` },
    ...line(['h'], values, isNarrow() ? [] : [make('span', {})]),
    ...line([withSubscripts(make('span', {}), isNarrow() ? 'W_2' : t('build_outer_column', { number: column + 1 }))], weights, []),
    make('span', { class: 'cell has-field', style: isNarrow() ? 'grid-column: -3 / span 2' : '' }, field),
  );
}
