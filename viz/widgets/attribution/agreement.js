// Pairwise agreement of the methods: Kendall's τ below the diagonal, overlap of their top three words above it.

import { fadeScrollEdges, make, replace } from '../core/dom.js';
import { signed, twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';

export class AgreementTable {
  constructor() {
    this.name = make('summary', {});
    this.description = make('p', { class: 'quiet' });
    this.table = make('table', {});
    this.region = make('div', { class: 'scrolls', tabindex: 0, role: 'region' }, this.table);
    this.element = make('details', { class: 'agreement', hidden: true }, this.name, this.description, this.region);
    fadeScrollEdges(this.region);
  }

  draw(methods, results) {
    const done = methods.filter((method) => results[method]);
    this.element.hidden = done.length < 2;
    this.name.textContent = t('word_agreement');
    this.description.textContent = t('word_agreement_says');
    this.region.setAttribute('aria-label', t('word_agreement'));
    const names = done.map((method, number) => make('th', { scope: 'col', title: t(`method_${method}`) }, number + 1));
    const head = make('thead', {}, make('tr', {}, make('th', {}), ...names));
    const rows = done.map((method, position) => {
      const cells = done.map((other, index) => {
        if (index === position) return make('td', { class: 'same' });
        const [tau, overlap] = results[method].agrees[other] ?? results[other].agrees[method] ?? [null, null];
        const value = index < position ? tau : overlap;
        const share = Math.round(32 * Math.abs(value ?? 0));
        const colour = (value ?? 0) < 0 ? '--head-b' : '--accent';
        const style = `background:color-mix(in srgb, var(${colour}) ${share}%, transparent)`;
        return make('td', { class: 'numeric', style }, value === null ? '–' : index < position ? signed(value, 2) : twoDecimals(value));
      });
      return make('tr', {}, make('th', { scope: 'row' }, `${position + 1} ${t(`method_${method}`)}`), ...cells);
    });
    replace(this.table, head, make('tbody', {}, ...rows));
  }
}
