// The product of one query and one key, dimension by dimension: as a picture, as a sum, as numbers.

import { make, phrase, replace, tableHead } from '../core/dom.js';
import { minus } from '../core/view.js';
import { t } from '../core/words.js';

const QUIET = { displayModeBar: false, responsive: false };
const ROOM = 760; // pixels up to which the picture takes what room there is

export class Product {
  constructor() {
    this.title = make('h3', {});
    this.says = make('p', { class: 'says' });
    this.chart = make('div', { class: 'chart', role: 'img' });
    this.sum = make('p', { class: 'sum numeric' });
    this.sumSays = make('p', { class: 'sum-says' });
    this.numbers = make('summary', {});
    this.table = make('table', {});
    this.region = make('div', { class: 'scrolls', tabindex: 0, role: 'region' }, this.table);
    this.details = make('details', { ontoggle: () => this.drawNumbers() }, this.numbers, this.region);
    this.element = make('section', {}, this.title, this.says, this.chart, this.sum, this.sumSays, this.details);
    new ResizeObserver(() => this.fit()).observe(this.chart);
  }

  /** What the server told of a pair, whose names come as elements: `name(token)` makes one. */
  draw(plotly, told, name, [from, onto]) {
    this.plotly = plotly;
    this.told = told;
    const { row, to, sum, bias, query, scaled } = told;
    this.title.textContent = t('why_product');
    replace(this.says, ...phrase(t('why_product_says', { width: query.length }), { query: name(from), key: name(onto) }));
    const score = minus(row.scores[to]);
    const biased = bias !== null;
    const parts = { sum: minus(sum), divisor: scaled ? `√${query.length}` : '1', bias: biased ? minus(bias) : '', score };
    this.sum.textContent = t(biased ? 'why_sum_bias' : scaled ? 'why_sum' : 'why_sum_plain', parts);
    this.sumSays.textContent = scaled ? t(biased ? 'why_sum_bias_says' : 'why_sum_says') : '';
    this.chart.setAttribute('aria-label', t('why_picture', { width: query.length, score }));
    this.width = null;
    this.fit();
    this.numbers.textContent = t('why_numbers');
    this.region.setAttribute('aria-label', t('why_numbers'));
    this.drawNumbers();
  }

  /** The picture is as wide as there is room; where nothing shows it, it waits. */
  fit() {
    const width = this.chart.clientWidth;
    if (!width || width === this.width || !this.told) return;
    this.width = width;
    const { data, layout } = this.told.figure;
    this.plotly.react(this.chart, data, { ...layout, width: Math.min(width, Math.max(layout.width, ROOM)) }, QUIET);
  }

  /** The table behind the picture, made when it is opened. */
  drawNumbers() {
    if (!this.details.open || !this.told) return;
    const { query, key } = this.told;
    const row = (number, dimension) => {
      const cells = [number, key[dimension], number * key[dimension]].map((each) => make('td', { class: 'numeric' }, minus(each)));
      return make('tr', {}, make('th', { scope: 'row', class: 'numeric' }, dimension + 1), ...cells);
    };
    const names = ['why_dimension', 'figure_neurons_query', 'figure_neurons_key', 'figure_neurons_product'];
    replace(this.table, tableHead(names.map((each) => t(each))), make('tbody', {}, ...query.map(row)));
  }
}
