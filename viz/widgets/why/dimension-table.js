// Every number of one product, in a table that opens: the query, the key, and one times the other, dimension by dimension.

import { make, replace, tableHead } from '../core/dom.js';
import { formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';

export class DimensionTable {
  constructor() {
    /** @type {Float32Array | null} */
    this.query = null;
    /** @type {Float32Array | null} */
    this.key = null;
    this.name = make('summary', {});
    this.table = make('table', { class: 'dimensions' });
    this.element = make('details', { hidden: true, ontoggle: () => this.fill() }, this.name, this.table);
  }

  /** `key` is the vector of the chosen key, whose name comes as text. */
  draw(query, key, name) {
    [this.query, this.key] = [query, key];
    this.element.hidden = false;
    this.name.textContent = t('why_numbers', { key: name });
    this.table.setAttribute('aria-label', this.name.textContent);
    this.fill();
  }

  /** The table is made when it is opened. */
  fill() {
    if (!this.element.open || !this.query) return;
    const lines = Array.from(this.query, (number, dimension) => {
      const numbers = [number, this.key[dimension], number * this.key[dimension]];
      const cells = numbers.map((each) => make('td', { class: 'numeric' }, formatSigned(each)));
      return make('tr', {}, make('th', { scope: 'row', class: 'numeric' }, dimension), ...cells);
    });
    const sum = this.query.reduce((all, number, dimension) => all + number * this.key[dimension], 0);
    const total = make(
      'tr',
      {},
      make('th', { scope: 'row' }, 'Σ'),
      make('td', {}),
      make('td', {}),
      make('td', { class: 'numeric' }, formatSigned(sum)),
    );
    const names = ['why_dimension', 'figure_neurons_query', 'figure_neurons_key', 'figure_neurons_product'];
    replace(this.table, tableHead(names.map((each) => t(each))), make('tbody', {}, ...lines), make('tfoot', {}, total));
  }
}
