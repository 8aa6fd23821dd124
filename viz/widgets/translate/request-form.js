// The request's fields: sentence, model, languages and options. Errors are shown next to their field.

import { state } from '../core/state.js';
import { errorText } from '../core/i18n.js';

export class RequestForm {
  /** `expandOptions()`: called if an error belongs to a hidden option. */
  constructor({ sentence, chooser, options, expandOptions }) {
    this.sentence = sentence;
    this.chooser = chooser;
    this.options = options;
    this.expandOptions = expandOptions;
    this.hasAnswer = false; // whether an answer has been shown
  }

  /** Build a request from the fields; values in `changes` override them. `last` is the previous request, if any. */
  request(changes, last) {
    const { text } = this.sentence;
    const model = changes.model ?? this.chooser.model;
    const options = this.options.values(model);
    // A custom target belongs to the sentence that it was scored with.
    if (options.target && options.target === last?.target && text !== last.text) options.target = null;
    return { ...options, ...this.chooser.forModel(model), text, ...changes };
  }

  /** Apply values from a link or another tab as if the visitor had set them. */
  change(changes) {
    this.options.change(changes, state.modelDefaults[changes.model ?? this.chooser.model]);
  }

  /** Show a request in the fields. */
  show(request) {
    this.chooser.setCurrent(request);
    this.options.set(request);
    this.sentence.fitText(); // fit now, not when the answer arrives
  }

  /** Set the model and its sentence; keep numbers that the visitor has changed. */
  setModelAndText(model, text) {
    this.chooser.setCurrent({ model });
    this.options.clearTarget();
    this.sentence.write(text);
  }

  /** Applies a permalink: resets all options, then sets those in `request`. `fullRequest`: with all defaults. */
  follow(fullRequest, request) {
    this.sentence.write(fullRequest.text);
    this.options.resetOption();
    this.options.change(request, state.modelDefaults[fullRequest.model]);
    this.show(fullRequest);
  }

  resetOption(name) {
    this.options.resetOption(name);
  }

  /** Show the request that was answered and the defaults of its model. */
  setAnswered({ request, model }) {
    if (!this.hasAnswer && !this.sentence.text) this.sentence.write(request.text); // after the first answer, a cleared field stays empty
    this.hasAnswer = true;
    this.chooser.setCurrent(request);
    state.modelDefaults[model.name] ??= model.defaults;
    this.options.setAnswered(state.modelDefaults[model.name]);
  }

  draw() {
    this.sentence.draw(state.translation?.model.source);
    this.options.draw();
    this.chooser.draw();
  }

  /** `request` has failed; `linkedSelection` is its selection if it came from a permalink. */
  showError({ field, word, values }, request, linkedSelection) {
    if (field === 'model' || field.endsWith('_language')) {
      this.chooser.fail({ word, values }, request, linkedSelection);
      return;
    }
    const message = errorText({ word, values });
    if (this.options.showError(field, message)) this.expandOptions();
    else this.sentence.showError(message);
  }

  clear() {
    this.sentence.showError('');
    this.chooser.offer.showError(null);
    this.options.clear();
  }
}
