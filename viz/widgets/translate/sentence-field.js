// Sentence field: auto-growing textarea, submits on Enter, shows validation errors.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';

const [MEDIUM_FROM, SMALL_FROM] = [110, 240]; // characters above which the font gets smaller

export class SentenceField {
  /**
   * `limit`: maximum characters. `alike`: an element that gets the same font size. `translate()` is called on Enter.
   */
  constructor({ limit, alike, translate }) {
    this.limit = limit;
    this.alike = alike;
    const about = { class: 'text', id: 'sentence', rows: 2, spellcheck: 'false', dir: 'auto' };
    this.element = make('textarea', { ...about, 'aria-describedby': 'sentence-error' });
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
    this.fitted = null; // the text that the field was last fitted to
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

  /** Highlight character spans `[start, end]` while the field contains `text`. */
  highlightSpans(text, spans) {
    this.shaded = { text, spans };
    this.drawShades();
  }

  drawShades() {
    const { text, spans } = this.shaded ?? { text: null, spans: [] };
    const letters = text === this.text ? [...text] : [];
    const parts = [];
    let end = 0;
    for (const [start, last] of letters.length ? spans : []) {
      if (start < end) continue;
      parts.push(letters.slice(end, start).join(''), make('mark', {}, letters.slice(start, last).join('')));
      end = last;
    }
    replace(this.shades, ...parts.filter((part) => part !== ''));
  }

  /** The validation error of the sentence, or null. */
  validationError() {
    const { text, limit } = this;
    if (!text.trim()) return { field: 'text', word: 'blank_text', values: {} };
    const given = [...text].length;
    return given > limit ? { field: 'text', word: 'too_long', values: { name: 'text', given, limit } } : null;
  }

  showError(says) {
    this.error.textContent = says;
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
    if (this.fitted !== this.text) this.fit();
  }

  /** Long sentences get a smaller font on both sides; the height follows the text. */
  fit() {
    this.fitted = this.text;
    const { length } = this.text;
    for (const element of [this.element, this.shades, this.alike]) {
      element.classList.toggle('middle', length > MEDIUM_FROM && length <= SMALL_FROM);
      element.classList.toggle('small', length > SMALL_FROM);
    }
    this.element.style.height = 'auto';
    this.element.style.height = `${this.element.scrollHeight}px`;
  }
}
