// One row of a head: the query, and per key the products, their sum, the score, its exponential and the weight.

import { make, replace } from '../core/dom.js';
import { fourDecimals, formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { colourRamp } from '../parts/legend.js';
import { tableCell, columnHeader, keyName, label, tableRow, numberCell, restName, splitKeys } from './table-rows.js';
import { colourLimit, vectorStrip } from './vector.js';

const [QUERY, PRODUCTS] = [26, 22]; // pixels

export class RowTable {
  /** `choose(place)` selects a key; `open()` shows a row for every key. */
  constructor(choose, open) {
    this.choose = choose;
    this.open = open;
    this.table = make('table', { class: 'row', role: 'table' });
    this.legend = make('p', { class: 'legend' });
    this.element = make('section', {}, this.table, this.legend);
  }

  /** Show the server's answer for the row of `query`; `to` is the position of the selected key. */
  draw(answer, to, query, keys, queryText) {
    const { width } = answer;
    const products = answer.own.map((_, key) => answer.query.map((value, dimension) => value * answer.keys[key * width + dimension]));
    const limit = colourLimit(products, 0.75);
    const numbers = listColumns(answer);
    this.table.style.setProperty('--numbers', String(numbers.length));
    this.table.setAttribute('aria-label', t('why_table', { query: query.label }));
    const { own, rest } = splitKeys(answer.own, keys.length);
    const lines = own.map((position, index) => {
      const key = answer.keys.subarray(index * width, (index + 1) * width);
      const describe = (dimension) =>
        `${formatSigned(answer.query[dimension])} × ${formatSigned(key[dimension])} = ${formatSigned(products[index][dimension])}`;
      const strip = tableCell('strip', vectorStrip(products[index], { most: limit, height: PRODUCTS, describe }));
      const names = [position === to && 'chosen', !answer.allowed[position] && 'masked'].filter(Boolean).join(' ');
      const row = tableRow(names, keyName(keys[position], position, position === to, this.choose), strip);
      row.append(...numbers.map(({ of }) => of(position)), shareBar(answer.weights[position]));
      row.addEventListener('click', (event) => event.target.closest('button') ?? this.choose(position));
      return row;
    });
    if (rest.length) {
      const shared = tableRow('rest', restName(rest.length, this.open), tableCell('strip'));
      shared.append(...numbers.map(({ all }) => all(rest)), shareBar(sumAt(answer.weights, rest)));
      lines.push(shared);
    }
    const total = tableRow('total', label('', 'Σ'), tableCell('strip'), ...numbers.map(({ all }) => all(null)), tableCell('bar'));
    const focused = this.table.contains(document.activeElement);
    replace(
      this.table,
      make('thead', { role: 'rowgroup' }, queryLine(answer, query, queryText, numbers.length), headLine(numbers)),
      make('tbody', { role: 'rowgroup' }, ...lines),
      make('tfoot', { role: 'rowgroup' }, total),
    );
    if (focused) this.table.querySelector('[aria-pressed=true]')?.focus({ preventScroll: true });
    const scale = make('span', {}, colourRamp('difference', formatSigned(-limit, 1), `+${limit.toFixed(1)}`));
    replace(this.legend, scale, make('span', {}, t('why_one_dimension')), make('span', {}, t('why_adds_up')));
  }
}

function queryLine(answer, query, describe, numbers) {
  const limit = colourLimit([answer.query], 1);
  const strip = vectorStrip(answer.query, {
    most: limit,
    height: QUERY,
    describe: (dimension) => `${dimension}: ${formatSigned(answer.query[dimension])}`,
  });
  const name = label('', make('bdi', {}, query.label));
  const blank = Array.from({ length: numbers + 1 }, () => tableCell('')); // the first row sets the column widths
  blank.at(-1).className = 'bar';
  return tableRow('query', name, tableCell('strip', strip, make('small', {}, describe)), ...blank);
}

function headLine(numbers) {
  const products = columnHeader('strip', t('why_products'), t('why_products_says'));
  return tableRow('', columnHeader('', t('why_key')), products, ...numbers.map(({ head }) => head), tableCell('bar'));
}

/**
 * The numeric columns, which depend on the model: header, cell of a key, cell of several keys. `null` stands for all
 * keys.
 */
function listColumns(answer) {
  /** @type {(places: number[] | null) => HTMLElement} */
  const empty = () => tableCell('');
  const divisor = answer.divisor ? `√${answer.width}` : '';
  const makeCell = (values, digits) => (key) => numberCell(formatSigned(values[key], digits));
  const columns = [
    {
      head: columnHeader('', t('why_sum'), answer.divisor || answer.bias ? t('why_of_products') : t('why_is_score')),
      of: makeCell(answer.sums, 3),
      all: empty,
    },
  ];
  if (answer.divisor) {
    const divided = answer.sums.map((sum) => sum / answer.divisor);
    const describe = answer.bias ? `÷ ${answer.divisor.toFixed(3)}` : t('why_is_score');
    columns.push({ head: columnHeader('', `÷${divisor}`, describe), of: makeCell(divided, 3), all: empty });
  }
  if (answer.bias) {
    columns.push({ head: columnHeader('', t('why_bias'), t('why_by_distance')), of: makeCell(answer.bias, 3), all: empty });
    columns.push({ head: columnHeader('', 's', t('why_is_score')), of: makeCell(answer.scores, 3), all: empty });
  }
  const digits = answer.total >= 10 ? 3 : 4;
  const exponent = answer.shift ? `s ${answer.shift < 0 ? '+' : '−'} ${Math.abs(answer.shift).toFixed(3)}` : 's';
  const power = [document.createTextNode('e'), make('sup', {}, exponent)];
  columns.push({
    head: columnHeader('', power, answer.shift ? t('why_largest_is_one') : t('why_positive')),
    of: (position) =>
      answer.allowed[position]
        ? numberCell(answer.powers[position].toFixed(digits))
        : tableCell('hatch', make('span', {}, t('why_may_not'))),
    all: (places) => numberCell((places ? sumAt(answer.powers, places) : answer.total).toFixed(digits)),
  });
  columns.push({
    head: columnHeader('', t('why_column_weight'), '÷ Σ'),
    of: (index) => numberCell(fourDecimals(answer.weights[index])),
    all: (places) => numberCell(fourDecimals(sumAt(answer.weights, places))),
  });
  return columns;
}

const sumAt = (values, places) => (places ?? [...values.keys()]).reduce((all, index) => all + values[index], 0);
const shareBar = (share) => tableCell('bar', make('i', { style: `width:${100 * Math.min(1, share)}%` }));
