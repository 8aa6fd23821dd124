// One row of a head's map: the query vector and, for each key, the products, their sum, the score, its exponential and the
// weight.

import { make, replace } from '../core/dom.js';
import { fourDecimals, formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { makeColourRamp } from '../parts/legend.js';
import { tableCell, columnHeader, collapsedHeader, keyHeader, rowHeader, tableRow, numberCell, splitKeys } from './table-rows.js';
import { colourLimit, vectorStrip } from './vector.js';

const [QUERY_HEIGHT, PRODUCTS_HEIGHT] = [26, 22]; // pixels: height of the vectors
const COLOUR_FRACTION = 0.75; // of the largest absolute product, drawn in the strongest colour

export class RowTable {
  /** `choose(index)` selects a key; `expand()` shows a row for every key. */
  constructor(choose, expand) {
    this.choose = choose;
    this.expand = expand;
    this.table = make('table', { class: 'row', role: 'table' });
    this.legend = make('p', { class: 'legend' });
    this.element = make('section', {}, this.table, this.legend);
  }

  /**
   * Draws the server's answer for the row of a query. `query`, `keys`: tokens; `selectedKey`: its index among the keys;
   * `description`: text below the query vector.
   */
  draw(answer, selectedKey, query, keys, description) {
    const { width } = answer;
    const products = answer.own.map((_, index) => answer.query.map((value, dimension) => value * answer.keys[index * width + dimension]));
    const limit = colourLimit(products, COLOUR_FRACTION);
    const columns = listColumns(answer);
    this.table.style.setProperty('--numbers', String(columns.length));
    this.table.setAttribute('aria-label', t('why_table', { query: query.label }));
    const { listed, collapsed } = splitKeys(answer.own, keys.length);
    const rows = listed.map((key, index) => {
      const vector = answer.keys.subarray(index * width, (index + 1) * width);
      const describe = (dimension) =>
        `${formatSigned(answer.query[dimension])} × ${formatSigned(vector[dimension])} = ${formatSigned(products[index][dimension])}`;
      const strip = tableCell('strip', vectorStrip(products[index], { limit, height: PRODUCTS_HEIGHT, describe }));
      const classes = [key === selectedKey && 'chosen', !answer.allowed[key] && 'masked'].filter(Boolean).join(' ');
      const row = tableRow(classes, keyHeader(keys[key], key, key === selectedKey, this.choose), strip);
      row.append(...columns.map(({ keyCell }) => keyCell(key)), weightBar(answer.weights[key]));
      row.addEventListener('click', (event) => event.target.closest('button') ?? this.choose(key));
      return row;
    });
    if (collapsed.length) {
      const collapsedRow = tableRow('rest', collapsedHeader(collapsed.length, this.expand), tableCell('strip'));
      collapsedRow.append(...columns.map(({ sumCell }) => sumCell(collapsed)), weightBar(sumAt(answer.weights, collapsed)));
      rows.push(collapsedRow);
    }
    const sumCells = columns.map(({ sumCell }) => sumCell(null));
    const totalRow = tableRow('total', rowHeader('', 'Σ'), tableCell('strip'), ...sumCells, tableCell('bar'));
    const hadFocus = this.table.contains(document.activeElement);
    replace(
      this.table,
      make('thead', { role: 'rowgroup' }, queryRow(answer, query, description, columns.length), headerRow(columns)),
      make('tbody', { role: 'rowgroup' }, ...rows),
      make('tfoot', { role: 'rowgroup' }, totalRow),
    );
    if (hadFocus) this.table.querySelector('[aria-pressed=true]')?.focus({ preventScroll: true });
    const scale = make('span', {}, makeColourRamp('difference', formatSigned(-limit, 1), `+${limit.toFixed(1)}`));
    replace(this.legend, scale, make('span', {}, t('why_one_dimension')), make('span', {}, t('why_adds_up')));
  }
}

function queryRow(answer, query, description, columnCount) {
  const limit = colourLimit([answer.query], 1);
  const strip = vectorStrip(answer.query, {
    limit,
    height: QUERY_HEIGHT,
    describe: (dimension) => `${dimension}: ${formatSigned(answer.query[dimension])}`,
  });
  const header = rowHeader('', make('bdi', {}, query.label));
  const emptyCells = Array.from({ length: columnCount + 1 }, () => tableCell('')); // the first row sets the column widths
  emptyCells.at(-1).className = 'bar';
  return tableRow('query', header, tableCell('strip', strip, make('small', {}, description)), ...emptyCells);
}

function headerRow(columns) {
  const products = columnHeader('strip', t('why_products'), t('why_products_says'));
  return tableRow('', columnHeader('', t('why_key')), products, ...columns.map(({ header }) => header), tableCell('bar'));
}

/**
 * The numeric columns, which depend on the model: {header, keyCell(key), sumCell(keys)}. `sumCell(null)` is the sum over
 * all keys.
 */
function listColumns(answer) {
  /** @type {(keys: number[] | null) => HTMLElement} */
  const emptyCell = () => tableCell('');
  const divisorText = answer.divisor ? `√${answer.width}` : '';
  const makeCell = (values, digits) => (key) => numberCell(formatSigned(values[key], digits));
  const columns = [
    {
      header: columnHeader('', t('why_sum'), answer.divisor || answer.bias ? t('why_of_products') : t('why_is_score')),
      keyCell: makeCell(answer.sums, 3),
      sumCell: emptyCell,
    },
  ];
  if (answer.divisor) {
    const quotients = answer.sums.map((sum) => sum / answer.divisor);
    const description = answer.bias ? `÷ ${answer.divisor.toFixed(3)}` : t('why_is_score');
    columns.push({ header: columnHeader('', `÷${divisorText}`, description), keyCell: makeCell(quotients, 3), sumCell: emptyCell });
  }
  if (answer.bias) {
    columns.push({ header: columnHeader('', t('why_bias'), t('why_by_distance')), keyCell: makeCell(answer.bias, 3), sumCell: emptyCell });
    columns.push({ header: columnHeader('', 's', t('why_is_score')), keyCell: makeCell(answer.scores, 3), sumCell: emptyCell });
  }
  const digits = answer.total >= 10 ? 3 : 4;
  const exponent = answer.shift ? `s ${answer.shift < 0 ? '+' : '−'} ${Math.abs(answer.shift).toFixed(3)}` : 's';
  const power = [document.createTextNode('e'), make('sup', {}, exponent)];
  columns.push({
    header: columnHeader('', power, answer.shift ? t('why_largest_is_one') : t('why_positive')),
    keyCell: (key) =>
      answer.allowed[key] ? numberCell(answer.powers[key].toFixed(digits)) : tableCell('hatch', make('span', {}, t('why_may_not'))),
    sumCell: (keys) => numberCell((keys ? sumAt(answer.powers, keys) : answer.total).toFixed(digits)),
  });
  columns.push({
    header: columnHeader('', t('why_column_weight'), '÷ Σ'),
    keyCell: (key) => numberCell(fourDecimals(answer.weights[key])),
    sumCell: (keys) => numberCell(fourDecimals(sumAt(answer.weights, keys))),
  });
  return columns;
}

/** The sum of the values of these keys, or of all if `keys` is null. */
const sumAt = (values, keys) => (keys ?? [...values.keys()]).reduce((sum, key) => sum + values[key], 0);
const weightBar = (weight) => tableCell('bar', make('i', { style: `width:${100 * Math.min(1, weight)}%` }));
