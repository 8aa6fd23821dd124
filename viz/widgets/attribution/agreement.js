// Pairwise agreement of the methods: Kendall's τ below the diagonal, overlap of their top three words above it.

import { fadeScrollEdges, make, replace } from '../core/dom.js';
import { signed, twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';

export class AgreementTable {
  constructor() {
    this.summary = make('summary', {});
    this.description = make('p', { class: 'quiet' });
    this.table = make('table', {});
    this.region = make('div', { class: 'scrolls', tabindex: 0, role: 'region' }, this.table);
    this.element = make('details', { class: 'agreement', hidden: true }, this.summary, this.description, this.region);
    fadeScrollEdges(this.region);
  }

  /** `results`: by method; `agrees` of a result has [τ, overlap] by other method. */
  draw(methods, results) {
    const measured = methods.filter((method) => results[method]);
    this.element.hidden = measured.length < 2;
    this.summary.textContent = t('word_agreement');
    this.description.textContent = t('word_agreement_says');
    this.region.setAttribute('aria-label', t('word_agreement'));
    const columnHeaders = measured.map((method, index) => make('th', { scope: 'col', title: t(`method_${method}`) }, index + 1));
    const header = make('thead', {}, make('tr', {}, make('th', {}), ...columnHeaders));
    const rows = measured.map((method, row) => {
      const cells = measured.map((other, column) => {
        if (column === row) return make('td', { class: 'same' });
        const [tau, overlap] = results[method].agrees[other] ?? results[other].agrees[method] ?? [null, null];
        const isBelowDiagonal = column < row;
        const value = isBelowDiagonal ? tau : overlap;
        const share = Math.round(32 * Math.abs(value ?? 0));
        const colour = (value ?? 0) < 0 ? '--head-b' : '--accent';
        const style = `background:color-mix(in srgb, var(${colour}) ${share}%, transparent)`;
        return make('td', { class: 'numeric', style }, value === null ? '–' : isBelowDiagonal ? signed(value, 2) : twoDecimals(value));
      });
      return make('tr', {}, make('th', { scope: 'row' }, `${row + 1} ${t(`method_${method}`)}`), ...cells);
    });
    replace(this.table, header, make('tbody', {}, ...rows));
  }
}
