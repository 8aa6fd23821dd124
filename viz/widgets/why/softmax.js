// The softmax over one row, as a table: of every key its score, e to its power, and its share of the row.

import { make, replace, tableHead } from '../core/dom.js';
import { four, minus } from '../core/view.js';
import { t } from '../core/words.js';

const MOST = 40; // keys with a line of their own; of more, the weakest share one

export class Softmax {
  /** `choose(place)`: another key. */
  constructor(choose) {
    this.choose = choose;
    this.title = make('h3', {});
    this.says = make('p', { class: 'says' });
    this.table = make('table', {});
    this.element = make('section', { class: 'softmax' }, this.title, this.says, this.table);
  }

  /** The row of the query `from`, over all keys; `to` is the place of the chosen one. */
  draw(row, to, from, keys) {
    const open = row.scores.filter((_, place) => row.allowed[place]);
    const largest = minus(Math.max(...open), 2);
    const reach = Math.max(...open.map(Math.abs), 1e-6);
    this.title.textContent = t('why_softmax');
    this.says.textContent = t('why_softmax_says', { largest });
    this.table.setAttribute('aria-label', t('why_table', { query: from.label }));
    const numbers = [t('why_column_score'), t('why_column_power', { largest }), t('why_column_weight')];
    const names = [t('why_column_key'), row.bias && t('why_column_bias'), ...numbers];
    const alone = ownLines(row, to);
    const lines = [...keys.entries()]
      .filter(([place]) => alone.has(place))
      .map(([place, token]) => this.line(row, token, place, place === to, reach));
    if (alone.size < keys.length)
      lines.push(
        together(
          row,
          [...keys.keys()].filter((place) => !alone.has(place)),
        ),
      );
    const focused = this.table.contains(document.activeElement);
    replace(this.table, tableHead(names.filter((each) => each !== null)), make('tbody', {}, ...lines), make('tfoot', {}, totals(row)));
    const chosen = this.table.querySelector('[aria-pressed=true]');
    if (focused) chosen?.focus({ preventScroll: true });
    this.table.classList.toggle('biased', Boolean(row.bias));
  }

  /** `reach` is the largest size of a score: how far its bar may go. */
  line(row, token, place, chosen, reach) {
    const about = { type: 'button', 'aria-pressed': String(chosen), title: token.full ?? token.label };
    const button = make('button', { ...about, onclick: () => this.choose(place) }, make('bdi', {}, token.label));
    const line = make(
      'tr',
      { class: `${chosen ? 'chosen' : ''} ${row.allowed[place] ? '' : 'masked'}` },
      make('th', { scope: 'row' }, button),
    );
    if (row.bias) line.append(cell(minus(row.bias[place])));
    const score = row.scores[place];
    if (!row.allowed[place]) {
      line.append(cell(minus(score)), make('td', { class: 'hatch' }, t('why_may_not')), cell(four(0)));
      return line;
    }
    const share = (50 * Math.abs(score)) / reach;
    const signed = make('i', { class: 'signed' }, make('i', { style: `${score < 0 ? 'right' : 'left'}:50%;width:${share}%` }));
    const weight = make('i', { class: 'share' }, make('i', { style: `width:${100 * Math.min(1, row.weights[place])}%` }));
    line.append(cell(minus(score), signed), cell(four(row.powers[place])), cell(four(row.weights[place]), weight));
    return line;
  }
}

/** The places of the keys that have a line of their own: the chosen one, and those with most weight. */
function ownLines(row, to) {
  const places = [...row.weights.keys()];
  if (places.length <= MOST) return new Set(places);
  const ranked = places.filter((place) => place !== to).sort((one, other) => row.weights[other] - row.weights[one] || one - other);
  return new Set([to, ...ranked.slice(0, MOST - 1)]);
}

/** All other keys on one line: their powers and weights summed, so that the columns still add up. */
function together(row, places) {
  const sum = (numbers) => places.reduce((all, place) => all + numbers[place], 0);
  const line = make('tr', { class: 'rest' }, make('th', { scope: 'row' }, t('why_more', { count: places.length })));
  line.append(...(row.bias ? [make('td', {})] : []), make('td', {}));
  const share = make('i', { class: 'share' }, make('i', { style: `width:${100 * Math.min(1, sum(row.weights))}%` }));
  line.append(cell(four(sum(row.powers))), cell(four(sum(row.weights)), share));
  return line;
}

function totals(row) {
  const line = make(
    'tr',
    { class: 'total' },
    make('th', { scope: 'row' }, t('why_total')),
    ...(row.bias ? [make('td', {})] : []),
    make('td', {}),
  );
  line.append(cell(four(row.total)), cell(four(row.weights.reduce((all, each) => all + each, 0))));
  return line;
}

const cell = (says, picture = null) => make('td', { class: 'numeric' }, picture, make('span', {}, says));
