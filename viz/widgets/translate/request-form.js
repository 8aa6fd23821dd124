// The fields that a request is made of: sentence, model with its languages, options. A complaint stands beside its field.

import { state } from '../core/state.js';
import { errorText } from '../core/i18n.js';

export class RequestForm {
  /** `unfold()`: the options must be seen. */
  constructor({ sentence, chooser, options, unfold }) {
    this.sentence = sentence;
    this.chooser = chooser;
    this.options = options;
    this.unfold = unfold;
    this.begun = false; // whether an answer was shown
  }

  // ---------------------------------------------------------------- what they hold

  /** The request as it stands here; `more` overrides. `last` is what was asked before, if anything was. */
  request(more, last) {
    const { text } = this.sentence;
    const model = more.model ?? this.chooser.model;
    const given = this.options.values(model);
    // One's own translation belongs to the sentence that it was scored with.
    if (given.target && given.target === last?.target && text !== last.text) given.target = null;
    return { ...given, ...this.chooser.asked(model), text, ...more };
  }

  /** Values from a link or another tab stay, as if the visitor had changed them. */
  change(more) {
    this.options.change(more, state.modelDefaults[more.model ?? this.chooser.model]);
  }

  // ---------------------------------------------------------------- what they show

  /** Show a request in the fields. */
  show(request) {
    this.chooser.setCurrent(request);
    this.options.set(request);
    this.sentence.fitText(); // not once the answer is there
  }

  /** Another model and its sentence; numbers that the visitor changed stay. */
  setModelAndText(model, text) {
    this.chooser.setCurrent({ model });
    this.options.clearTarget();
    this.sentence.write(text);
  }

  /** All that an address wants, of which it names `request`: no number is the visitor's any longer. */
  follow(wanted, request) {
    this.sentence.write(wanted.text);
    this.options.resetOption();
    this.options.change(request, state.modelDefaults[wanted.model]);
    this.show(wanted);
  }

  /** A number is the visitor's no longer. */
  resetOption(name) {
    this.options.resetOption(name);
  }

  /** The request that was answered, and the default options of its model. */
  setAnswered({ request, model }) {
    if (!this.begun && !this.sentence.text) this.sentence.write(request.text); // who has emptied it since types another
    this.begun = true;
    this.chooser.setCurrent(request);
    state.modelDefaults[model.name] ??= model.defaults;
    this.options.setAnswered(state.modelDefaults[model.name]);
  }

  draw() {
    this.sentence.draw(state.translation?.model.source);
    this.options.draw();
    this.chooser.draw();
  }

  // ---------------------------------------------------------------- what is wrong with them

  /** `asked` is the request that failed; `following`: an address asked for it, and wants one to look there. */
  showError({ field, word, values }, asked, following) {
    if (field === 'model' || field.endsWith('_language')) {
      this.chooser.fail({ word, values }, asked, following);
      return;
    }
    const says = errorText({ word, values });
    if (this.options.showError(field, says)) this.unfold();
    else this.sentence.showError(says);
  }

  clear() {
    this.sentence.showError('');
    this.chooser.offer.showError(null);
    this.options.clear();
  }
}
