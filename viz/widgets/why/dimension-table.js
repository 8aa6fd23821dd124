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
    this.summary = make('summary', {});
    this.table = make('table', { class: 'dimensions' });
    this.element = make('details', { class: 'all-numbers', hidden: true, ontoggle: () => this.fill() }, this.summary, this.table);
  }

  /** `query`, `key`: vectors of the head; `keyLabel`: the key's token. */
  draw(query, key, keyLabel) {
    [this.query, this.key] = [query, key];
    this.element.hidden = false;
    this.summary.textContent = t('why_numbers', { key: keyLabel });
    this.table.setAttribute('aria-label', this.summary.textContent);
    this.fill();
  }

  /** Fills the table if it is open. */
  fill() {
    if (!this.element.open || !this.query) return;
    const rows = Array.from(this.query, (value, dimension) => {
      const values = [value, this.key[dimension], value * this.key[dimension]];
      const cells = values.map((number) => make('td', { class: 'numeric' }, formatSigned(number)));
      return make('tr', {}, make('th', { scope: 'row', class: 'numeric' }, dimension), ...cells);
    });
    const dotProduct = this.query.reduce((sum, value, dimension) => sum + value * this.key[dimension], 0);
    const totalRow = make(
      'tr',
      {},
      make('th', { scope: 'row' }, 'Σ'),
      make('td', {}),
      make('td', {}),
      make('td', { class: 'numeric' }, formatSigned(dotProduct)),
    );
    const titles = ['why_dimension', 'figure_neurons_query', 'figure_neurons_key', 'figure_neurons_product'];
    replace(this.table, tableHead(titles.map((phrase) => t(phrase))), make('tbody', {}, ...rows), make('tfoot', {}, totalRow));
  }
}
