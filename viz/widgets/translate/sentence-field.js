// Sentence field: auto-growing textarea, submits on Enter, shows validation errors.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { locateTypedPositions } from './typed-positions.js';

const [MAX_LARGE_CHARACTERS, MAX_MEDIUM_CHARACTERS] = [110, 240]; // longer sentences have a smaller font

/**
 * Splits a typed text into elements of its tokens and the text between them. Spans are wrapped in `mark` elements.
 * @param {string} typed
 * @param {{ text: string, spans: [number, number][], tokens: import('../core/translation.js').Token[] }} overlay
 */
function makeOverlayNodes(typed, { text, spans, tokens }) {
  const positions = locateTypedPositions(text, typed);
  if (!positions) return [];
  const { starts, ends } = positions;
  const units = [0];
  for (const letter of text) units.push(units[units.length - 1] + letter.length);
  const words = [];
  for (const token of tokens) {
    const { end, key, piece, unknown } = token;
    const wordText = text.slice(token.start, end);
    const start = end - wordText.trimStart().length; // a token may begin with the space before its word
    if (token.special || end <= start) continue;
    if (Number(piece) > 0 && words.length) words[words.length - 1].keys += ` ${key}`;
    else words.push({ start: starts[start], end: ends[end], keys: key, unknown });
  }
  const makeNodes = (rangeStart, rangeEnd) => {
    const nodes = [];
    let offset = rangeStart;
    for (const { start, end, keys, unknown } of words) {
      const [first, last] = [Math.max(start, offset), Math.min(end, rangeEnd)];
      if (first >= last) continue;
      const name = unknown ? 'token unknown' : 'token';
      nodes.push(typed.slice(offset, first), make('span', { class: name, data: { keys } }, typed.slice(first, last)));
      offset = last;
    }
    return [...nodes, typed.slice(offset, rangeEnd)];
  };
  const nodes = [];
  let offset = 0;
  for (const [start, end] of spans) {
    const [markStart, markEnd] = [starts[units[start]], ends[units[end]]];
    if (markStart < offset) continue;
    nodes.push(...makeNodes(offset, markStart), make('mark', {}, ...makeNodes(markStart, markEnd)));
    offset = markEnd;
  }
  return [...nodes, ...makeNodes(offset, typed.length)];
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
   * Overlays the tokens of `text`, which views shade, and marks spans while the field contains `text`. Pictures and spaces
   * may differ.
   * @param {string} text
   * @param {[number, number][]} spans `[start, end]` in code points
   * @param {import('../core/translation.js').Token[]} tokens with positions in UTF-16 units
   */
  overlay(text, spans, tokens) {
    this.shownOverlay = { text, spans, tokens };
    this.drawShades();
  }

  drawShades() {
    const parts = this.shownOverlay ? makeOverlayNodes(this.text, this.shownOverlay) : [];
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

  /** Reduces the font size of long sentences on both sides, and fits the field's height to its text. */
  fit() {
    this.fittedText = this.text;
    const { length } = this.text;
    for (const element of [this.element, this.shades, this.sameSize]) {
      element.classList.toggle('middle', length > MAX_LARGE_CHARACTERS && length <= MAX_MEDIUM_CHARACTERS);
      element.classList.toggle('small', length > MAX_MEDIUM_CHARACTERS);
    }
    this.element.style.height = 'auto';
    this.element.style.height = `${this.element.scrollHeight}px`;
  }
}
