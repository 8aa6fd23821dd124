// Contribution of each word to the verdict, by one of two methods: the drop of the log-odds without the word; or, if
// the log-odds are a sum over tokens, the token's contribution minus the mean. Short texts get bars, long texts two colours.

import { make, fillElements, replace, isTouch } from '../core/dom.js';
import { LANGUAGES } from '../core/languages.js';
import { state } from '../core/state.js';
import { cssColour, textColourOn, scaleColour } from '../core/theme.js';
import { signed, threeDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { makeColourRamp } from '../parts/legend.js';
import { tokenElements } from '../headview/token-strips.js';
import { className, isPair, directionName } from './class-bars.js';
import { wordBars } from './word-bars.js';

const MAX_LISTED_WORDS = 6; // per list: words for the class, and words against it
const MAX_BARS = 60; // maximum number of words with bars; more bars would fill the screen
const METHODS = ['erased', 'contributions'];
const MIN_SHADE = 0.08; // tokens below this fraction of the largest value are not shaded

export class WordContributions {
  constructor() {
    this.title = make('h2', {});
    this.description = make('p', { class: 'quiet' });
    this.strip = make('div', { class: 'strip contributions', tabindex: 0, role: 'group' });
    this.value = make('span', { class: 'value numeric' });
    this.words = make('span', { class: 'words' });
    this.readout = make('div', { class: 'readout', 'aria-live': 'polite' }, this.value, this.words);
    this.legend = make('div', { class: 'legend' });
    this.lists = make('div', { class: 'lists' });
    this.note = make('p', { class: 'quiet' });
    this.summary = make('summary', {});
    this.numbers = make('div', { class: 'numbers', tabindex: 0, role: 'region' });
    this.details = make('details', {}, this.summary, this.numbers);
    this.method = METHODS[0];
    this.methods = make('div', { class: 'methods', role: 'group' });
    this.element = make(
      'section',
      { class: 'headlight explorer' },
      this.title,
      this.methods,
      this.description,
      this.strip,
      this.readout,
      this.legend,
      this.lists,
      this.details,
      this.note,
    );
    this.listen();
  }

  listen() {
    this.strip.addEventListener('pointermove', (event) => event.pointerType !== 'touch' && this.showValue(this.getSpan(event)));
    this.strip.addEventListener('pointerleave', () => this.showValue(null));
    this.strip.addEventListener('click', (event) => {
      const span = this.getSpan(event);
      this.pinned = span === this.pinned ? null : span;
      this.showValue(null);
    });
    this.strip.addEventListener('keydown', (event) => {
      const tokens = [...this.strip.querySelectorAll('.token')];
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      this.pinned = tokens[this.pinned ? Math.max(0, Math.min(tokens.length - 1, tokens.indexOf(this.pinned) + step)) : 0];
      this.showValue(null);
    });
    this.details.addEventListener('toggle', () => this.fill());
  }

  getSpan(event) {
    return event.target.closest('.token');
  }

  /** @param {number} classIndex class that the contributions are for */
  show(review, classIndex) {
    const isSame = review.tokens === this.review?.tokens && classIndex === this.classIndex;
    if (!isSame) this.pinned = null;
    const pinnedIndex = this.pinned ? [...this.strip.querySelectorAll('.token')].indexOf(this.pinned) : -1;
    this.review = review;
    this.classIndex = classIndex;
    this.strip.lang = review.language;
    const method = this.methodFor(review);
    this.values = this.getValues(method);
    this.isPerWord = method === 'erased'; // each token has the value of its word, so that values are not summed over tokens
    const words = this.wordValues();
    this.maxValue = Math.max(1e-9, ...words.map(({ value }) => Math.abs(value)));
    this.title.textContent = t('sentiment_contributions');
    this.description.textContent = this.methodText(method);
    this.note.textContent = [
      method ? t(method === 'erased' ? 'sentiment_erased_note' : 'sentiment_contribution_note') : '',
      review.contributions ? '' : t('sentiment_no_contributions'),
    ]
      .filter(Boolean)
      .join(LANGUAGES[state.language].gap);
    this.drawMethods(method);
    this.summary.textContent = t('sentiment_all');
    this.strip.setAttribute('aria-label', t('sentiment_contributions'));
    this.numbers.setAttribute('aria-label', t('sentiment_all'));
    const tokens = review.tokens.map((token, index) => ({ ...token, key: `r${index}` }));
    const showsBars = Boolean(method) && words.length <= MAX_BARS;
    this.strip.classList.toggle('bars', showsBars);
    if (showsBars) replace(this.strip, ...wordBars(words, this.maxValue));
    else replace(this.strip, ...tokenElements(tokens, review.text));
    if (!showsBars) for (const span of this.strip.querySelectorAll('.token')) this.paint(span);
    this.pinned = pinnedIndex < 0 ? null : this.strip.querySelectorAll('.token')[pinnedIndex];
    const limit = threeDecimals(this.maxValue);
    const [negativeName, positiveName] = isPair(review) ? review.classes.map(className) : ['', className(review.classes[classIndex])];
    for (const element of [this.legend, this.lists, this.readout, this.details]) element.hidden = !method;
    replace(this.legend, makeColourRamp('difference', `${negativeName} −${limit}`.trim(), `+${limit} ${positiveName}`));
    replace(this.lists, this.makeList(words, -1), this.makeList(words, 1));
    this.showValue(null);
    this.fill();
  }

  /** Selected method of word contributions; empty if none is available yet. */
  methodFor({ erased, contributions }) {
    if (erased && (this.method === 'erased' || !contributions)) return 'erased';
    return contributions ? 'contributions' : '';
  }

  /** Value per token. */
  getValues(method) {
    const { tokens, contributions, erased } = this.review;
    if (!method) return tokens.map(() => 0);
    if (method === 'erased') return erased[this.classIndex];
    const mean = contributions.reduce((sum, value) => sum + value, 0) / contributions.length;
    return contributions.map((value) => value - mean);
  }

  methodText(method) {
    if (method === 'contributions') return t('sentiment_contributions_says');
    if (!method) return t(this.review.erasable ? 'sentiment_erasing' : 'sentiment_erased_long');
    if (this.review.isLinear) return t('sentiment_erased_says');
    return t('sentiment_erased_class', { name: className(this.review.classes[this.classIndex]) });
  }

  /** Two buttons for the method, if both are available. */
  drawMethods(method) {
    this.methods.hidden = !this.review.erased || !this.review.contributions;
    this.methods.setAttribute('aria-label', t('sentiment_methods'));
    const button = (name) => {
      const isPressed = String(name === method);
      const element = make('button', { type: 'button', class: 'link', 'aria-pressed': isPressed }, t(`sentiment_method_${name}`));
      element.addEventListener('click', () => {
        this.method = name;
        this.show(this.review, this.classIndex);
        this.methods.querySelector('[aria-pressed=true]')?.focus();
      });
      return element;
    };
    replace(this.methods, ...METHODS.map(button));
  }

  sumContributions(positions) {
    return this.isPerWord ? this.values[positions[0]] : positions.reduce((sum, index) => sum + this.values[index], 0);
  }

  paint(span) {
    const value = this.sumContributions(tokenPositions(span));
    const rgb = Math.abs(value) < MIN_SHADE * this.maxValue ? null : scaleColour('difference', 0.5 + value / this.maxValue / 2);
    span.style.backgroundColor = rgb ? cssColour(rgb) : '';
    span.style.color = rgb ? textColourOn(rgb) : '';
  }

  /** Highlights the token under the pointer, else the pinned one. */
  showValue(hovered) {
    const span = hovered ?? this.pinned;
    for (const item of this.strip.querySelectorAll('.token.chosen')) item.classList.remove('chosen');
    span?.classList.add('chosen');
    if (!span) {
      this.value.textContent = '';
      this.words.textContent = t(isTouch() ? 'sentiment_contribution_touch' : 'sentiment_contribution_idle');
      return;
    }
    const value = this.sumContributions(tokenPositions(span));
    this.value.textContent = signed(value, 4);
    const description = t('sentiment_contribution_of', { toward: this.directionText(Math.sign(value)) });
    replace(
      this.words,
      ...fillElements(description, { token: make('b', {}, make('bdi', { lang: this.review.language }, span.textContent)) }),
    );
  }

  directionText(sign) {
    return directionName(this.review, this.classIndex, sign < 0 ? -1 : 1);
  }

  /** Whole words with the positions and the value of their tokens. */
  wordValues() {
    const byWord = new Map();
    for (const [index, token] of this.review.tokens.entries()) {
      const key = token.word ?? `special ${index}`;
      const word = byWord.get(key) ?? { places: [], start: token.start, label: token.label };
      word.places.push(index);
      word.unknown ||= token.unknown;
      if (!token.special) word.label = this.review.text.slice(word.start, token.end);
      byWord.set(key, word);
    }
    const words = [...byWord.entries()].filter(([key]) => !this.isPerWord || typeof key === 'number').map(([, word]) => word);
    return words.map((word) => ({ ...word, value: this.sumContributions(word.places) }));
  }

  /** The strongest words for the class (`sign` 1) or against it (−1). */
  makeList(words, sign) {
    const strongest = words.filter(({ value }) => value * sign > 0).sort((a, b) => (b.value - a.value) * sign);
    const rows = strongest.slice(0, MAX_LISTED_WORDS).map(({ label, value }) => {
      const bar = make('i', { style: `width:${((100 * Math.abs(value)) / this.maxValue).toFixed(1)}%` });
      return make(
        'div',
        {},
        make('span', { title: label }, make('bdi', { lang: this.review.language }, label)),
        make('span', {}, bar),
        make('span', { class: 'numeric' }, signed(value, 4)),
      );
    });
    const title = make('h3', {}, t('sentiment_strongest', { toward: this.directionText(sign) }));
    return make(
      'div',
      { class: `list ${sign > 0 ? 'toward' : 'against'}` },
      title,
      ...(rows.length ? rows : [make('p', { class: 'quiet' }, t('sentiment_nothing_for'))]),
    );
  }

  /** Fills the table of all numbers if it is open. */
  fill() {
    if (!this.details.open) return;
    const { contributions, erased, language } = this.review;
    const row = (token, index) =>
      make(
        'tr',
        {},
        make('th', { scope: 'row', lang: language, class: token.unknown ? 'unknown' : null }, token.full ?? token.label),
        contributions ? make('td', {}, signed(contributions[index], 4)) : null,
        erased ? make('td', {}, token.special ? '–' : signed(erased[this.classIndex][index], 4)) : null,
      );
    const titles = ['sentiment_token', ...(contributions ? ['sentiment_contribution'] : []), ...(erased ? ['sentiment_erased'] : [])];
    const headers = titles.map((phrase) => make('th', { scope: 'col' }, t(phrase)));
    replace(
      this.numbers,
      make('table', {}, make('thead', {}, make('tr', {}, ...headers)), make('tbody', {}, ...this.review.tokens.map(row))),
    );
  }
}

/** Token positions of a span. */
export const tokenPositions = (span) => span.dataset.keys.split(' ').map((key) => Number(key.slice(1)));
