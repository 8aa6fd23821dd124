// Collapsible table of one dot product: query, key and their product per dimension.

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
    this.element = make('details', { class: 'all-numbers', hidden: true, ontoggle: () => this.fill() }, this.name, this.table);
  }

  /** `key`: the vector of the selected key; `name`: its token. */
  draw(query, key, name) {
    [this.query, this.key] = [query, key];
    this.element.hidden = false;
    this.name.textContent = t('why_numbers', { key: name });
    this.table.setAttribute('aria-label', this.name.textContent);
    this.fill();
  }

  /** Render the table if it is open. */
  fill() {
    if (!this.element.open || !this.query) return;
    const lines = Array.from(this.query, (number, dimension) => {
      const numbers = [number, this.key[dimension], number * this.key[dimension]];
      const cells = numbers.map((item) => make('td', { class: 'numeric' }, formatSigned(item)));
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
    replace(this.table, tableHead(names.map((name) => t(name))), make('tbody', {}, ...lines), make('tfoot', {}, total));
  }
}
