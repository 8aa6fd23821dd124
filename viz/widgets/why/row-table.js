// One row of a head: the query, and per key the products, their sum, the score, its exponential and the weight.

import { make, replace } from '../core/dom.js';
import { fourDecimals, formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { makeColourRamp } from '../parts/legend.js';
import { tableCell, columnHeader, expandButton, keyName, rowHeader, tableRow, numberCell, splitKeys } from './table-rows.js';
import { colourLimit, vectorStrip } from './vector.js';

const [QUERY_HEIGHT, PRODUCTS_HEIGHT] = [26, 22]; // pixels

export class RowTable {
  /** `choose(index)` selects a key; `expand()` shows a row for every key. */
  constructor(choose, expand) {
    this.choose = choose;
    this.expand = expand;
    this.table = make('table', { class: 'row', role: 'table' });
    this.legend = make('p', { class: 'legend' });
    this.element = make('section', {}, this.table, this.legend);
  }

  /** Show the server's answer for the row of `query`; `selectedKey`: its position. */
  draw(answer, selectedKey, query, keys, queryText) {
    const { width } = answer;
    const products = answer.own.map((_, key) => answer.query.map((value, dimension) => value * answer.keys[key * width + dimension]));
    const limit = colourLimit(products, 0.75);
    const numbers = listColumns(answer);
    this.table.style.setProperty('--numbers', String(numbers.length));
    this.table.setAttribute('aria-label', t('why_table', { query: query.label }));
    const { listed, collapsed } = splitKeys(answer.own, keys.length);
    const lines = listed.map((position, index) => {
      const key = answer.keys.subarray(index * width, (index + 1) * width);
      const describe = (dimension) =>
        `${formatSigned(answer.query[dimension])} × ${formatSigned(key[dimension])} = ${formatSigned(products[index][dimension])}`;
      const strip = tableCell('strip', vectorStrip(products[index], { limit, height: PRODUCTS_HEIGHT, describe }));
      const names = [position === selectedKey && 'chosen', !answer.allowed[position] && 'masked'].filter(Boolean).join(' ');
      const row = tableRow(names, keyName(keys[position], position, position === selectedKey, this.choose), strip);
      row.append(...numbers.map(({ keyCell }) => keyCell(position)), shareBar(answer.weights[position]));
      row.addEventListener('click', (event) => event.target.closest('button') ?? this.choose(position));
      return row;
    });
    if (collapsed.length) {
      const collapsedRow = tableRow('rest', expandButton(collapsed.length, this.expand), tableCell('strip'));
      collapsedRow.append(...numbers.map(({ sumCell }) => sumCell(collapsed)), shareBar(sumAt(answer.weights, collapsed)));
      lines.push(collapsedRow);
    }
    const total = tableRow(
      'total',
      rowHeader('', 'Σ'),
      tableCell('strip'),
      ...numbers.map(({ sumCell }) => sumCell(null)),
      tableCell('bar'),
    );
    const focused = this.table.contains(document.activeElement);
    replace(
      this.table,
      make('thead', { role: 'rowgroup' }, queryLine(answer, query, queryText, numbers.length), headLine(numbers)),
      make('tbody', { role: 'rowgroup' }, ...lines),
      make('tfoot', { role: 'rowgroup' }, total),
    );
    if (focused) this.table.querySelector('[aria-pressed=true]')?.focus({ preventScroll: true });
    const scale = make('span', {}, makeColourRamp('difference', formatSigned(-limit, 1), `+${limit.toFixed(1)}`));
    replace(this.legend, scale, make('span', {}, t('why_one_dimension')), make('span', {}, t('why_adds_up')));
  }
}

function queryLine(answer, query, describe, columnCount) {
  const limit = colourLimit([answer.query], 1);
  const strip = vectorStrip(answer.query, {
    limit,
    height: QUERY_HEIGHT,
    describe: (dimension) => `${dimension}: ${formatSigned(answer.query[dimension])}`,
  });
  const name = rowHeader('', make('bdi', {}, query.label));
  const blank = Array.from({ length: columnCount + 1 }, () => tableCell('')); // the first row sets the column widths
  blank.at(-1).className = 'bar';
  return tableRow('query', name, tableCell('strip', strip, make('small', {}, describe)), ...blank);
}

function headLine(numbers) {
  const products = columnHeader('strip', t('why_products'), t('why_products_says'));
  return tableRow('', columnHeader('', t('why_key')), products, ...numbers.map(({ header }) => header), tableCell('bar'));
}

/**
 * The numeric columns, which depend on the model: {header, keyCell(key), sumCell(keys)}. `sumCell(null)` is the sum over
 * all keys.
 */
function listColumns(answer) {
  /** @type {(keys: number[] | null) => HTMLElement} */
  const empty = () => tableCell('');
  const divisor = answer.divisor ? `√${answer.width}` : '';
  const makeCell = (values, digits) => (key) => numberCell(formatSigned(values[key], digits));
  const columns = [
    {
      header: columnHeader('', t('why_sum'), answer.divisor || answer.bias ? t('why_of_products') : t('why_is_score')),
      keyCell: makeCell(answer.sums, 3),
      sumCell: empty,
    },
  ];
  if (answer.divisor) {
    const divided = answer.sums.map((sum) => sum / answer.divisor);
    const describe = answer.bias ? `÷ ${answer.divisor.toFixed(3)}` : t('why_is_score');
    columns.push({ header: columnHeader('', `÷${divisor}`, describe), keyCell: makeCell(divided, 3), sumCell: empty });
  }
  if (answer.bias) {
    columns.push({ header: columnHeader('', t('why_bias'), t('why_by_distance')), keyCell: makeCell(answer.bias, 3), sumCell: empty });
    columns.push({ header: columnHeader('', 's', t('why_is_score')), keyCell: makeCell(answer.scores, 3), sumCell: empty });
  }
  const digits = answer.total >= 10 ? 3 : 4;
  const exponent = answer.shift ? `s ${answer.shift < 0 ? '+' : '−'} ${Math.abs(answer.shift).toFixed(3)}` : 's';
  const power = [document.createTextNode('e'), make('sup', {}, exponent)];
  columns.push({
    header: columnHeader('', power, answer.shift ? t('why_largest_is_one') : t('why_positive')),
    keyCell: (position) =>
      answer.allowed[position]
        ? numberCell(answer.powers[position].toFixed(digits))
        : tableCell('hatch', make('span', {}, t('why_may_not'))),
    sumCell: (keys) => numberCell((keys ? sumAt(answer.powers, keys) : answer.total).toFixed(digits)),
  });
  columns.push({
    header: columnHeader('', t('why_column_weight'), '÷ Σ'),
    keyCell: (index) => numberCell(fourDecimals(answer.weights[index])),
    sumCell: (keys) => numberCell(fourDecimals(sumAt(answer.weights, keys))),
  });
  return columns;
}

const sumAt = (values, keys) => (keys ?? [...values.keys()]).reduce((all, index) => all + values[index], 0);
const shareBar = (share) => tableCell('bar', make('i', { style: `width:${100 * Math.min(1, share)}%` }));
