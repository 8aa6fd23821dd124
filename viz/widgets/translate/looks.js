// "This looks like English. Translate English → German?": what the server noticed about the sentence, and a way on.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { languageName, t } from '../core/words.js';

const MOST = 3; // directions that are offered

export class LooksLike {
  /** `go(offer)` translates the sentence again, as the offer says; `text()` is what the field holds. */
  constructor({ go, text }) {
    this.go = go;
    this.text = text;
    this.element = make('p', { class: 'looks-like', role: 'status' });
  }

  /** Of the translation that is shown, as long as its sentence stands in the field. */
  draw() {
    const { translation, busy } = state;
    const hint = !busy && translation?.request.text === this.text() ? translation.hint : null;
    const key = JSON.stringify([hint, state.language]);
    if (key === this.key) return;
    this.key = key;
    if (!hint) {
      replace(this.element);
      return;
    }
    const looks = t('hint_looks', { name: languageName(hint.language) });
    const buttons = hint.offers.slice(0, MOST).map((offer, place) => this.button(offer, place));
    const says = buttons.length ? looks : `${looks} ${t('hint_reads', { name: languageName(hint.reads) })}`;
    replace(this.element, `${says} `, ...buttons);
  }

  button(offer, place) {
    const values = { source: languageName(offer.source), target: languageName(offer.target) };
    const says = t(place ? 'model_languages' : 'hint_translate', values);
    return make('button', { type: 'button', class: 'link', title: offer.model, onclick: () => this.go(offer) }, says);
  }
}
