// All terms of the page with their definitions, from the phrase tables.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { TERMS } from '../parts/glossary.js';

export class AllTerms {
  constructor() {
    this.title = make('h3', {});
    this.terms = make('dl', { class: 'all-terms' });
    this.element = make('section', { class: 'lesson-terms' }, this.title, this.terms);
  }

  draw() {
    this.title.textContent = t('terms');
    const entries = TERMS.map((term) => make('div', {}, make('dt', {}, t(`term_${term}`)), make('dd', {}, t(`term_${term}_says`))));
    replace(this.terms, ...entries);
  }
}
