// Sentence field: auto-growing textarea, submits on Enter, shows validation errors.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';

const [MEDIUM_FROM, SMALL_FROM] = [110, 240]; // characters above which the font gets smaller

/** Split the text into token elements; wrap those of each span in a `mark`. */
function overlayParts(text, spans, tokens) {
  const units = [0];
  for (const letter of text) units.push(units[units.length - 1] + letter.length);
  const words = [];
  for (const { start, end, key, special, piece, unknown } of tokens) {
    if (special || end <= start) continue;
    if (piece > 0 && words.length) words[words.length - 1].keys += ` ${key}`;
    else words.push({ start, end, keys: key, unknown });
  }
  const between = (from, to) => {
    const parts = [];
    let offset = from;
    for (const { start, end, keys, unknown } of words) {
      const [first, last] = [Math.max(start, offset), Math.min(end, to)];
      if (first >= last) continue;
      const wordText = text.slice(first, last);
      const blank = wordText.length - wordText.trimStart().length; // a token may begin with the space before its word
      parts.push(
        text.slice(offset, first + blank),
        make('span', { class: unknown ? 'token unknown' : 'token', data: { keys } }, wordText.slice(blank)),
      );
      offset = last;
    }
    return [...parts, text.slice(offset, to)];
  };
  const parts = [];
  let done = 0;
  for (const [start, end] of spans) {
    if (units[start] < done) continue;
    parts.push(...between(done, units[start]), make('mark', {}, ...between(units[start], units[end])));
    done = units[end];
  }
  return [...parts, ...between(done, text.length)];
}

export class SentenceField {
  /**
   * `limit`: maximum characters. `sameSize`: an element that gets the same font size. `translate()` is called on Enter.
   */
  constructor({ limit, sameSize, translate }) {
    this.limit = limit;
    this.sameSize = sameSize;
    const attributes = { class: 'text', id: 'sentence', rows: 1, spellcheck: 'false', dir: 'auto' };
    this.element = make('textarea', { ...attributes, 'aria-describedby': 'sentence-error' });
    this.shades = make('div', { class: 'text shades', 'aria-hidden': 'true' });
    this.error = make('div', { class: 'error', id: 'sentence-error', role: 'alert' });
    this.element.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      translate();
    });
    this.element.addEventListener('input', () => {
      this.fit();
      this.showError('');
      this.drawShades();
    });
    this.element.addEventListener('scroll', () => (this.shades.scrollTop = this.element.scrollTop));
    this.fittedText = null; // the text at the last `fit`
    new ResizeObserver(() => this.fit()).observe(this.element);
  }

  get text() {
    return this.element.value;
  }

  write(text) {
    this.element.value = text;
    this.fit();
    this.drawShades();
  }

  /**
   * While the field contains `text`, overlay its tokens, which views shade, and mark character spans `[start, end]`.
   * @param {string} text
   * @param {[number, number][]} spans in code points
   * @param {import('../core/translation.js').Token[]} tokens with positions in UTF-16 units
   */
  overlay(text, spans, tokens) {
    this.shownOverlay = { text, spans, tokens };
    this.drawShades();
  }

  drawShades() {
    const { text, spans, tokens } = this.shownOverlay ?? { text: null, spans: [], tokens: [] };
    const parts = text === this.text ? overlayParts(text, spans, tokens) : [];
    replace(this.shades, ...parts.filter((part) => part !== ''));
    this.shades.dispatchEvent(new Event('headlight-words'));
  }

  /** The validation error of the sentence, or null. */
  validationError() {
    const { text, limit } = this;
    if (!text.trim()) return { field: 'text', word: 'blank_text', values: {} };
    const length = [...text].length;
    return length > limit ? { field: 'text', word: 'too_long', values: { name: 'text', given: length, limit } } : null;
  }

  showError(message) {
    this.error.textContent = message;
  }

  /** Draw in the visitor's language; `language` is that of the sentence, if known. */
  draw(language) {
    if (language !== undefined) this.element.lang = language;
    this.element.placeholder = t('sentence_placeholder');
  }

  focus() {
    this.element.focus();
  }

  /** Fit only if the text has changed: measuring forces a layout of the whole page. */
  fitText() {
    if (this.fittedText !== this.text) this.fit();
  }

  /** Long sentences get a smaller font on both sides; the height follows the text. */
  fit() {
    this.fittedText = this.text;
    const { length } = this.text;
    for (const element of [this.element, this.shades, this.sameSize]) {
      element.classList.toggle('middle', length > MEDIUM_FROM && length <= SMALL_FROM);
      element.classList.toggle('small', length > SMALL_FROM);
    }
    this.element.style.height = 'auto';
    this.element.style.height = `${this.element.scrollHeight}px`;
  }
}
