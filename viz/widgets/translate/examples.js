// The examples: a menu of sentences, each with a model that reads its language.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';

export class Examples {
  /** `take(model, text)`: one was chosen. */
  constructor(examples, take) {
    this.examples = examples;
    this.element = make('select', { id: 'examples' });
    this.element.addEventListener('change', () => {
      const { model, text } = examples[Number(this.element.value)];
      take(model, text);
    });
  }

  /** The first one that a model can read. */
  of(model) {
    return this.examples.find((each) => each.model === model);
  }

  /** `text` stands in the field: the example that it is counts as chosen. */
  draw(text) {
    this.element.setAttribute('aria-label', t('examples'));
    const options = this.examples.map(({ name }, place) => make('option', { value: place }, t(`example_${name}`)));
    replace(this.element, make('option', { value: -1, disabled: true, hidden: true }, t('examples')), ...options);
    this.element.value = this.examples.findIndex((each) => each.text === text);
  }
}
