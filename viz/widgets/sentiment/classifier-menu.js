// Menu of classifiers, hidden if there is only one.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { kindName } from '../parts/model-names.js';

export class ClassifierMenu {
  /** `onChange` is called when another model is selected, here or in the Models tab. */
  constructor(models, onChange) {
    this.models = models.filter(({ downloaded }) => downloaded);
    this.model = this.models[0];
    this.element = make('select', {});
    this.element.addEventListener('change', () => {
      this.model = this.models[Number(this.element.value)];
      onChange();
    });
    addEventListener('headlight-classifier', (event) => {
      const { detail } = /** @type {CustomEvent} */ (event);
      const previousModel = this.model;
      if (!this.models.some(({ name }) => name === detail.name)) this.models.push(detail);
      this.model = this.models.find(({ name }) => name === detail.name);
      if (this.model !== previousModel) onChange();
    });
  }

  /** Whether the current model is additive and trained on film reviews; true without a model. */
  get isBuiltIn() {
    return this.model?.linear ?? true;
  }

  /** Selects a model by name (empty: the first). Returns false if it is unknown. */
  choose(name) {
    const match = name ? this.models.find((model) => model.name === name) : this.models[0];
    if (match) this.model = match;
    return Boolean(match) || !name;
  }

  /** Name of the selected model; empty for the first. */
  get name() {
    return this.model === this.models[0] ? '' : this.model.name;
  }

  draw() {
    this.element.hidden = this.models.length < 2;
    this.element.setAttribute('aria-label', t('sentiment_model'));
    replace(this.element, ...this.models.map((model, index) => make('option', { value: index }, kindName(model))));
    this.element.value = String(this.models.indexOf(this.model));
  }
}
