// All terms of the page with their meanings, from the table of words.

import { make, replace } from '../core/dom.js';
import { t } from '../core/words.js';

/** In the order in which one meets them. */
export const TERMS = [
  ...['attention', 'token', 'end', 'head', 'layer', 'encoder', 'decoder', 'cross', 'masked'],
  ...['query', 'score', 'softmax', 'embedding', 'positions', 'stream', 'norm', 'logits', 'beam'],
];

export class Glossary {
  constructor() {
    this.title = make('h3', {});
    this.terms = make('dl', {});
    this.element = make('section', { class: 'lesson-terms' }, this.title, this.terms);
  }

  draw() {
    this.title.textContent = t('lesson_terms');
    const lines = TERMS.map((term) =>
      make('div', {}, make('dt', {}, t(`lesson_term_${term}`)), make('dd', {}, t(`lesson_term_${term}_says`))),
    );
    replace(this.terms, ...lines);
  }
}
