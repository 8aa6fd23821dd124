// The softmax over one row, as a table: of every key its score, e to its power, and its share of the row.

import { make, replace, tableHead } from '../core/dom.js';
import { four, minus } from '../core/view.js';
import { t } from '../core/words.js';

const [ABOVE, BELOW] = [48, 40]; // pixels at the edges of the table in which the chosen key is not in sight

export class Softmax {
  /** `choose(place)`: another key. */
  constructor(choose) {
    this.choose = choose;
    this.title = make('h3', {});
    this.says = make('p', { class: 'says' });
    this.table = make('table', {});
    this.region = make('div', { class: 'scrolls tall', tabindex: 0, role: 'region' }, this.table);
    this.element = make('section', {}, this.title, this.says, this.region);
  }

  /** The row of the query `from`, over all keys; `to` is the place of the chosen one. */
  draw(row, to, from, keys) {
    const open = row.scores.filter((_, place) => row.allowed[place]);
    const largest = minus(Math.max(...open), 2);
    const reach = Math.max(...open.map(Math.abs), 1e-6);
    this.title.textContent = t('why_softmax');
    this.says.textContent = t('why_softmax_says', { largest });
    this.region.setAttribute('aria-label', t('why_table', { query: from.label }));
    const numbers = [t('why_column_score'), t('why_column_power', { largest }), t('why_column_weight')];
    const names = [t('why_column_key'), row.bias && t('why_column_bias'), ...numbers];
    const lines = keys.map((token, place) => this.line(row, token, place, place === to, reach));
    const focused = this.table.contains(document.activeElement);
    replace(this.table, tableHead(names.filter((each) => each !== null)), make('tbody', {}, ...lines), make('tfoot', {}, totals(row)));
    const chosen = this.table.querySelector('[aria-pressed=true]');
    if (focused) chosen?.focus({ preventScroll: true });
    this.reveal(chosen.closest('tr'));
    this.table.classList.toggle('biased', Boolean(row.bias));
  }

  reveal(line) {
    const { scrollTop, clientHeight } = this.region;
    const hidden = line.offsetTop < scrollTop + ABOVE || line.offsetTop + BELOW > scrollTop + clientHeight;
    if (hidden) this.region.scrollTop = line.offsetTop - clientHeight / 2;
  }

  /** `reach` is the largest size of a score: how far its bar may go. */
  line(row, token, place, chosen, reach) {
    const about = { type: 'button', 'aria-pressed': String(chosen), title: token.full ?? token.label };
    const button = make('button', { ...about, onclick: () => this.choose(place) }, make('bdi', {}, token.label));
    const line = make('tr', { class: `${chosen ? 'chosen' : ''} ${row.allowed[place] ? '' : 'masked'}` }, make('th', { scope: 'row' }, button));
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

function totals(row) {
  const line = make('tr', { class: 'total' }, make('th', { scope: 'row' }, t('why_total')), ...(row.bias ? [make('td', {})] : []), make('td', {}));
  line.append(cell(four(row.total)), cell(four(row.weights.reduce((all, each) => all + each, 0))));
  return line;
}

const cell = (says, picture = null) => make('td', { class: 'numeric' }, picture, make('span', {}, says));
