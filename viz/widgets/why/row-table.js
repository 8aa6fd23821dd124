// One row of a head: the query, then for every key the products with it, their sum, the score, its exponential, the weight.

import { make, replace } from '../core/dom.js';
import { fourDecimals, formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { colourRamp } from '../parts/legend.js';
import { tableCell, columnHeader, keyName, label, tableRow, numberCell, restName, splitKeys } from './table-rows.js';
import { colourLimit, vectorStrip } from './vector.js';

const [QUERY, PRODUCTS] = [26, 22]; // pixels

export class RowTable {
  /** `choose(place)`: another key; `open()`: a line for each of them. */
  constructor(choose, open) {
    this.choose = choose;
    this.open = open;
    this.table = make('table', { class: 'row', role: 'table' });
    this.legend = make('p', { class: 'legend' });
    this.element = make('section', {}, this.table, this.legend);
  }

  /** Show the server's answer for the row of `query`; `to` is the position of the selected key. */
  draw(told, to, query, keys, querySays) {
    const { width } = told;
    const products = told.own.map((_, at) => told.query.map((each, dimension) => each * told.keys[at * width + dimension]));
    const most = colourLimit(products, 0.75);
    const numbers = columnsOf(told);
    this.table.style.setProperty('--numbers', String(numbers.length));
    this.table.setAttribute('aria-label', t('why_table', { query: query.label }));
    const { own, rest } = splitKeys(told.own, keys.length);
    const lines = own.map((place, at) => {
      const key = told.keys.subarray(at * width, (at + 1) * width);
      const says = (dimension) =>
        `${formatSigned(told.query[dimension])} × ${formatSigned(key[dimension])} = ${formatSigned(products[at][dimension])}`;
      const strip = tableCell('strip', vectorStrip(products[at], { most, height: PRODUCTS, says }));
      const names = [place === to && 'chosen', !told.allowed[place] && 'masked'].filter(Boolean).join(' ');
      const shown = tableRow(names, keyName(keys[place], place, place === to, this.choose), strip);
      shown.append(...numbers.map(({ of }) => of(place)), barOf(told.weights[place]));
      shown.addEventListener('click', (event) => event.target.closest('button') ?? this.choose(place));
      return shown;
    });
    if (rest.length) {
      const shared = tableRow('rest', restName(rest.length, this.open), tableCell('strip'));
      shared.append(...numbers.map(({ all }) => all(rest)), barOf(sumOf(told.weights, rest)));
      lines.push(shared);
    }
    const total = tableRow('total', label('', 'Σ'), tableCell('strip'), ...numbers.map(({ all }) => all(null)), tableCell('bar'));
    const focused = this.table.contains(document.activeElement);
    replace(
      this.table,
      make('thead', { role: 'rowgroup' }, queryLine(told, query, querySays, numbers.length), headLine(numbers)),
      make('tbody', { role: 'rowgroup' }, ...lines),
      make('tfoot', { role: 'rowgroup' }, total),
    );
    if (focused) this.table.querySelector('[aria-pressed=true]')?.focus({ preventScroll: true });
    const scale = make('span', {}, colourRamp('difference', formatSigned(-most, 1), `+${most.toFixed(1)}`));
    replace(this.legend, scale, make('span', {}, t('why_one_dimension')), make('span', {}, t('why_adds_up')));
  }
}

function queryLine(told, query, says, numbers) {
  const most = colourLimit([told.query], 1);
  const strip = vectorStrip(told.query, {
    most,
    height: QUERY,
    says: (dimension) => `${dimension}: ${formatSigned(told.query[dimension])}`,
  });
  const name = label('', make('bdi', {}, query.label));
  const blank = Array.from({ length: numbers + 1 }, () => tableCell('')); // the first row sets the column widths
  blank.at(-1).className = 'bar';
  return tableRow('query', name, tableCell('strip', strip, make('small', {}, says)), ...blank);
}

function headLine(numbers) {
  const products = columnHeader('strip', t('why_products'), t('why_products_says'));
  return tableRow('', columnHeader('', t('why_key')), products, ...numbers.map(({ head }) => head), tableCell('bar'));
}

/**
 * The numeric columns, which depend on the model: header, cell of a key, cell of several keys. `null` stands for all
 * keys.
 */
function columnsOf(told) {
  /** @type {(places: number[] | null) => HTMLElement} */
  const empty = () => tableCell('');
  const over = told.divisor ? `√${told.width}` : '';
  const named = (values, digits) => (place) => numberCell(formatSigned(values[place], digits));
  const columns = [
    {
      head: columnHeader('', t('why_sum'), told.divisor || told.bias ? t('why_of_products') : t('why_is_score')),
      of: named(told.sums, 3),
      all: empty,
    },
  ];
  if (told.divisor) {
    const divided = told.sums.map((sum) => sum / told.divisor);
    const says = told.bias ? `÷ ${told.divisor.toFixed(3)}` : t('why_is_score');
    columns.push({ head: columnHeader('', `÷${over}`, says), of: named(divided, 3), all: empty });
  }
  if (told.bias) {
    columns.push({ head: columnHeader('', t('why_bias'), t('why_by_distance')), of: named(told.bias, 3), all: empty });
    columns.push({ head: columnHeader('', 's', t('why_is_score')), of: named(told.scores, 3), all: empty });
  }
  const digits = told.total >= 10 ? 3 : 4;
  const exponent = told.shift ? `s ${told.shift < 0 ? '+' : '−'} ${Math.abs(told.shift).toFixed(3)}` : 's';
  const power = [document.createTextNode('e'), make('sup', {}, exponent)];
  columns.push({
    head: columnHeader('', power, told.shift ? t('why_largest_is_one') : t('why_positive')),
    of: (place) =>
      told.allowed[place] ? numberCell(told.powers[place].toFixed(digits)) : tableCell('hatch', make('span', {}, t('why_may_not'))),
    all: (places) => numberCell((places ? sumOf(told.powers, places) : told.total).toFixed(digits)),
  });
  columns.push({
    head: columnHeader('', t('why_column_weight'), '÷ Σ'),
    of: (place) => numberCell(fourDecimals(told.weights[place])),
    all: (places) => numberCell(fourDecimals(sumOf(told.weights, places))),
  });
  return columns;
}

const sumOf = (values, places) => (places ?? [...values.keys()]).reduce((all, place) => all + values[place], 0);
const barOf = (share) => tableCell('bar', make('i', { style: `width:${100 * Math.min(1, share)}%` }));
