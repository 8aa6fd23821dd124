// Target panel: translation, token probabilities and status line.

import { make, fillElements, replace } from '../core/dom.js';
import { formatSigned, threeDecimals } from '../core/map-view.js';
import { languageName, sentenceGap, t } from '../core/i18n.js';
import { desk } from '../parts/desk.js';
import { isWordForWord, makeReliabilityLine } from '../parts/reliability.js';
import { Findings } from './findings.js';
import { TranslatedText } from '../parts/translated-text.js';

const LETTER_WIDTH = 0.46; // mean width of a letter, relative to the font size
const [LETTERS_PER_LETTER, LETTERS_PER_IDEOGRAPH] = [1.15, 3.8]; // expected letters of a translation per letter of the source, estimated high

/** Closes an open `details` on a press outside it, and on Escape. */
function closeOutside(details) {
  document.addEventListener('pointerdown', ({ target }) => {
    if (details.open && !details.contains(/** @type {Node} */ (target))) details.open = false;
  });
  details.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !details.open) return;
    event.stopPropagation();
    details.open = false;
    details.firstElementChild.focus();
  });
}

export class TranslationPanel {
  /**
   * `language`: language picker; `server` computes the findings. `continueFrom(ids)` translates again with this prefix;
   * `undo()` restores the model's own translation.
   */
  constructor({ language, server, continueFrom, undo }) {
    this.noteKey = '';
    this.sentence = new TranslatedText((index, id) => {
      const before = this.sentence.tokens.slice(0, index).map((token) => token.id);
      this.sentence.close();
      continueFrom([...before, id]);
    });
    this.name = make('b', {});
    this.probabilityLabel = make('span', {});
    this.unsure = make('span', {});
    this.meta = make('span', { class: 'quiet numeric meta' });
    this.undo = make('button', { type: 'button', class: 'link', hidden: true, onclick: undo });
    this.note = make('p', { class: 'verdict', role: 'status' });
    this.back = make('p', { class: 'back', hidden: true });
    this.measured = make('p', { class: 'measured' });
    /** @type {import('../core/translation.js').Translation | null} the model's last unconstrained translation */
    this.ownTranslation = null;
    const key = make(
      'span',
      { class: 'doubt-key', 'aria-hidden': 'true' },
      this.probabilityLabel,
      make('i', {}),
      make('i', {}),
      make('i', {}),
      this.unsure,
    );
    language.name.append(this.name);
    language.element.classList.add('of-target');
    this.out = make('div', { class: 'out' }, this.text);
    this.element = make('div', { class: 'side' });
    this.summary = make('summary', {}, this.note);
    const reasons = make('div', { class: 'reasons' }, this.measured, this.back, this.meta, key);
    this.reasons = make('details', { class: 'judgement' }, this.summary, reasons);
    reasons.append(new Findings(server, this.reasons).element);
    this.judgement = make('div', { class: 'judged' }, this.reasons, this.undo);
    closeOutside(this.reasons);
    this.element.append(language.element, make('div', { class: 'line' }, this.out, desk().player), this.judgement);
  }

  get text() {
    return this.sentence.element;
  }

  /** Popup with the alternatives of a token; it is above all other elements. */
  get popup() {
    return this.sentence.popup;
  }

  /** Draw in the visitor's language; `model`: the model of the shown translation, if any. */
  draw(model) {
    this.name.textContent = (model && languageName(model.target)) || t('side_target');
    this.undo.textContent = t('undo');
    this.probabilityLabel.textContent = t('sure');
    this.unsure.textContent = t('unsure');
  }

  /** Show why there is no new translation, and mark the shown one as stale if needed; "checking": a new one is pending. */
  showStopped(word) {
    this.noteKey = word;
    const page = this.element.closest('.gradio-container');
    page?.classList.toggle('stale', ['stopped_before', 'not_translated', 'checking'].includes(word));
    page?.classList.toggle('pending', word === 'checking');
  }

  /** Clear the notes of the previous translation; keep the layout. */
  clearNotes() {
    this.element.classList.add('loading');
    replace(this.note, t('checking'));
    this.reasons.hidden = false;
    replace(this.back);
    this.back.title = '';
    this.meta.textContent = '';
    this.undo.hidden = true;
  }

  /**
   * Reserves the largest of the current height, `minHeight` pixels and the expected height of the translation of `source`,
   * so that the layout shifts at a keystroke and not at an answer. Screen readers announce no changes while `still` is true.
   */
  reserveSpace(still, minHeight, source) {
    this.text.setAttribute('aria-live', still ? 'off' : 'polite');
    this.out.style.minHeight = still ? `${Math.max(this.out.offsetHeight, minHeight, this.expectedHeight(source))}px` : '';
  }

  expectedHeight(source) {
    const { fontSize, lineHeight, paddingTop, paddingBottom } = getComputedStyle(this.text);
    const letters = [...source].reduce((sum, letter) => sum + (letter > '\u2e80' ? LETTERS_PER_IDEOGRAPH : LETTERS_PER_LETTER), 0);
    const lines = Math.ceil((letters * LETTER_WIDTH * parseFloat(fontSize)) / this.out.clientWidth);
    return lines * parseFloat(lineHeight) + parseFloat(paddingTop) + parseFloat(paddingBottom);
  }

  /** Increases the reserved height if the translation does not fit, so that no word is hidden. */
  growSpace() {
    if (this.text.scrollHeight > this.text.clientHeight + 2) this.out.style.minHeight = `${this.text.scrollHeight}px`;
  }

  /** Show partial output in the language of the previous translation. */
  showPartial(tokens, text, language) {
    this.element.classList.remove('loading');
    this.sentence.show(tokens, text, { language });
  }

  /** Show the score of the visitor's translation, next to that of the model's own if known. */
  showScore({ log_probability: log, target, request, model }) {
    const { ownTranslation } = this;
    const ownScore =
      ownTranslation && ownTranslation.request.text === request.text && ownTranslation.model.name === model.name
        ? ownTranslation.log_probability
        : null;
    const leastLikely = target.reduce((worst, token) => (token.probability < worst.probability ? token : worst));
    const status =
      ownScore === null
        ? t('scored', { log: formatSigned(log, 2) })
        : t('scored_against', { log: formatSigned(log, 2), own: formatSigned(ownScore, 2) });
    replace(
      this.note,
      `${status} `,
      ...fillElements(t('scored_least_likely', { probability: threeDecimals(leastLikely.probability) }), {
        token: make('b', {}, make('bdi', {}, leastLikely.label)),
      }),
    );
  }

  /**
   * Show a full translation; `isStopped`: the visitor stopped it.
   * @param {import('../core/translation.js').Translation} translation
   * @param {boolean} isStopped
   */
  show(translation, isStopped) {
    this.element.classList.remove('loading');
    const { prefix, target } = translation.request;
    const forced = Array.isArray(prefix) ? prefix.length - 1 : null;
    this.sentence.show(translation.target, translation.text, { forced, language: translation.model.target });
    this.undo.hidden = forced === null && target === null;
    const counts = { read: translation.source.length, written: translation.target.length };
    const values = { device: translation.device.toUpperCase(), seconds: translation.seconds.toFixed(2), ...counts };
    const ending = forced !== null ? 'continued' : isStopped && target !== null && 'cut';
    const meta = t(translation.cached ? 'meta_cached' : 'meta', values);
    this.meta.textContent = meta + (ending ? ` · ${t(ending)}` : '');
    if (target === null && forced === null) this.ownTranslation = translation;
  }

  /** Show the reliability and the back-translation; score a translation by the visitor. */
  showReliability(translation) {
    const { reliability, way_back: wayBack } = translation;
    if (this.noteKey) replace(this.note, t(this.noteKey));
    else if (typeof translation.request.target === 'string') this.showScore(translation);
    else replace(this.note, ...makeReliabilityLine(reliability, translation.isReadingBack));
    this.reasons.hidden = !this.note.hasChildNodes(); // without a grade there are no details
    const { grade, probability, reasons = [] } = reliability ?? {};
    const measured = grade && probability !== null ? t('reliable_measured', { right: Math.round(100 * probability) }) : '';
    this.measured.textContent = [measured, grade && !reasons.length ? t('reliable_no_reasons') : ''].filter(Boolean).join(sentenceGap());
    const back = reliability?.back;
    this.back.hidden = !back && !wayBack; // show the line before its text arrives
    this.back.title = back ?? '';
    const words = back ? fillElements(t('read_back'), { words: make('bdi', { lang: translation.model.source }, back) }) : [];
    const isSame = back && isWordForWord(translation.request.text, back);
    replace(this.back, ...words, ...(isSame ? [sentenceGap(), t('read_back_same')] : []));
  }
}
