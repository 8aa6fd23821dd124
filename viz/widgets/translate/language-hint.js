// "This looks like English. Translate English → German?": what the server noticed about the sentence, and a way on; and which of
// its words the model could not read.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { languageName, t } from '../core/i18n.js';
import { unknownNote } from '../parts/unknown-words.js';

const MAX_OFFERS = 3; // directions that are offered

export class LanguageHint {
  /** `go(offer)` translates the sentence again, as the offer says; `text()` is what the field holds. */
  constructor({ go, text }) {
    this.go = go;
    this.text = text;
    this.element = make('p', { class: 'looks-like', role: 'status' });
  }

  /** Of the translation that is shown, as long as its sentence stands in the field. */
  draw() {
    const { translation, busy } = state;
    const shown = !busy && translation?.request.text === this.text() ? translation : null;
    const hint = shown?.hint;
    const unread = shown ? unknownNote(shown.source, shown.source_text, shown.model.source) : [];
    const key = JSON.stringify([hint, unread.map((part) => part.textContent ?? part), state.language]);
    if (key === this.key) return;
    this.key = key;
    replace(this.element, ...(hint ? this.offers(hint) : []), unread.length ? make('span', { class: 'unread' }, ...unread) : null);
  }

  /** What the sentence looks like, and models that read that. */
  offers(hint) {
    const looks = t('hint_looks', { name: languageName(hint.language) });
    const buttons = hint.offers.slice(0, MAX_OFFERS).map((offer, place) => this.button(offer, place));
    const says = buttons.length ? looks : `${looks} ${t('hint_reads', { name: languageName(hint.reads) })}`;
    return [`${says} `, ...buttons];
  }

  button(offer, place) {
    const values = { source: languageName(offer.source), target: languageName(offer.target) };
    const says = t(place ? 'model_languages' : 'hint_translate', values);
    return make('button', { type: 'button', class: 'link', title: offer.model, onclick: () => this.go(offer) }, says);
  }
}
