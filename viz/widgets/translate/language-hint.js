// Notes below the sentence: the detected language with suggested models ("This looks like English. Translate English →
// German?"), changes that the model made to its input, and unknown words.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { languageName, sentenceGap, t } from '../core/i18n.js';
import { makeUnknownNote } from '../parts/unknown-words.js';

const MAX_OFFERS = 3; // maximum number of suggestions

export class LanguageHint {
  /** `onSelect(offer)` translates the sentence again with the suggestion; `getText()` returns the field's text. */
  constructor({ onSelect, getText }) {
    this.onSelect = onSelect;
    this.getText = getText;
    this.element = make('p', { class: 'looks-like', role: 'status' });
  }

  /** Draw the hints if the field contains the sentence of the shown translation. */
  draw() {
    const { translation, busy } = state;
    const current = !busy && translation?.request.text === this.getText() ? translation : null;
    const hint = current?.hint;
    const unknownWords = current ? makeUnknownNote(current.source, current.source_text, current.model.source) : [];
    const adaptations = current?.adaptations ?? [];
    const key = JSON.stringify([hint, adaptations, unknownWords.map((part) => part.textContent ?? part), state.language]);
    if (key === this.key) return;
    this.key = key;
    replace(
      this.element,
      ...(hint ? this.makeOffers(hint) : []),
      adaptations.length ? make('span', { class: 'unread' }, adaptations.map((name) => t(`adaptation_${name}`)).join(sentenceGap())) : null,
      unknownWords.length ? make('span', { class: 'unread' }, ...unknownWords) : null,
    );
  }

  /** The detected language, and buttons for models that translate from it. */
  makeOffers(hint) {
    const detected = t('hint_looks', { name: languageName(hint.language) });
    const buttons = hint.offers.slice(0, MAX_OFFERS).map((offer, index) => this.button(offer, index));
    const description = buttons.length ? detected : `${detected} ${t('hint_reads', { name: languageName(hint.reads) })}`;
    return [`${description} `, ...buttons];
  }

  button(offer, index) {
    const values = { source: languageName(offer.source), target: languageName(offer.target) };
    const description = t(index ? 'model_languages' : 'hint_translate', values);
    return make('button', { type: 'button', class: 'link', title: offer.model, onclick: () => this.onSelect(offer) }, description);
  }
}
