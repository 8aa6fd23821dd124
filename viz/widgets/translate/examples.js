// Menu of example sentences, each with a model for its language.

import { make, replace } from '../core/dom.js';
import { isEmbedded } from '../core/embed.js';
import { t } from '../core/i18n.js';
import { state } from '../core/state.js';

export class Examples {
  /** `onSelect(model, text)` is called when an example is selected; `models`: the menu's entries, with their languages. */
  constructor(examples, models, onSelect) {
    this.examples = examples;
    this.languages = new Map(models.map(({ name, source, target }) => [name, { source, target }]));
    this.element = make('select', { id: 'examples' });
    this.element.addEventListener('change', () => {
      const { model, text } = examples[Number(this.element.value)];
      onSelect(model, text);
    });
  }

  /** The first example of a model. */
  firstForModel(model) {
    return this.examples.find((example) => example.model === model);
  }

  /** The initial sentence of a page that is not in English: an example in the page's language, or null. */
  localExample() {
    if (state.language === 'en' || isEmbedded()) return null;
    return this.examples.find(({ model }) => this.languages.get(model)?.source === state.language) ?? null;
  }

  /** Indices of the examples. Those from or into the page's language come first if it is not English. */
  sortedIndices() {
    const rank = ({ model }) => {
      const { source, target } = this.languages.get(model) ?? {};
      return source === state.language ? 0 : target === state.language ? 1 : 2;
    };
    const indices = [...this.examples.keys()];
    return state.language === 'en' ? indices : indices.sort((a, b) => rank(this.examples[a]) - rank(this.examples[b]));
  }

  /** Select the example that matches `text`. */
  draw(text) {
    this.element.setAttribute('aria-label', t('examples'));
    const options = this.sortedIndices().map((index) => make('option', { value: index }, t(`example_${this.examples[index].name}`)));
    replace(this.element, make('option', { value: -1, disabled: true, hidden: true }, t('examples')), ...options);
    this.element.value = this.examples.findIndex((example) => example.text === text);
  }
}
