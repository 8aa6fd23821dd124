// Menu of example sentences, each with a model for its language.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';

export class Examples {
  /** `onSelect(model, text)` is called when an example is selected. */
  constructor(examples, onSelect) {
    this.examples = examples;
    this.element = make('select', { id: 'examples' });
    this.element.addEventListener('change', () => {
      const { model, text } = examples[Number(this.element.value)];
      onSelect(model, text);
    });
  }

  /** The first example of a model. */
  first(model) {
    return this.examples.find((example) => example.model === model);
  }

  /** Select the example that matches `text`. */
  draw(text) {
    this.element.setAttribute('aria-label', t('examples'));
    const options = this.examples.map(({ name }, index) => make('option', { value: index }, t(`example_${name}`)));
    replace(this.element, make('option', { value: -1, disabled: true, hidden: true }, t('examples')), ...options);
    this.element.value = this.examples.findIndex((example) => example.text === text);
  }
}
