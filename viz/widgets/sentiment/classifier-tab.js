// The Sentiment tab: a text, the classifier's verdict, word contributions and attention.

import { withPositions } from '../core/translation.js';
import { callWithRetry } from '../core/boot.js';
import { make, replace, isTouch } from '../core/dom.js';
import { ready } from '../core/page.js';
import { LANGUAGES } from '../core/languages.js';
import { on, set, state } from '../core/state.js';
import { fourDecimals, signed, threeDecimals } from '../core/map-view.js';
import { errorText, t } from '../core/i18n.js';
import { makeUnknownNote } from '../parts/unknown-words.js';
import { ReviewHeads } from './review-heads.js';
import { ClassBars, className, defaultClass, predictedClasses, isPair, verdictName } from './class-bars.js';
import { ClassifierMenu } from './classifier-menu.js';
import { WordContributions } from './word-contributions.js';
import { reviewLink } from './review-link.js';

/** @param {import('../core/server.js').Mounted} mounted */
export async function mount({ element, server, props }) {
  await ready;
  new ClassifierTab(element, server, JSON.parse(props.config));
}

class ClassifierTab {
  /**
   * @param {HTMLElement} root
   * @param {import('../core/server.js').Server} server
   * @param {any} config
   */
  constructor(root, { classify_review, erase }, config) {
    this.root = root;
    this.classifyOnServer = classify_review;
    this.eraseOnServer = erase;
    this.config = config;
    this.generation = 0; // incremented to discard responses of older requests
    this.review = null;
    this.linked = { review: '', classifier: '' }; // state of the permalink
    this.build();
    this.listen();
    on(['tab', 'language'], () => this.open());
    on(['review', 'classifier'], () => this.applyPermalink(state));
    on(['theme', 'palette', 'scale', 'fit'], () => this.drawReview());
    this.open();
  }

  build() {
    const attributes = {
      class: 'text',
      id: 'review',
      rows: 3,
      spellcheck: 'false',
      'aria-describedby': 'review-error review-limits',
    };
    this.text = make('textarea', attributes);
    this.label = make('label', { for: 'review' });
    this.examples = make('select', {});
    this.classifyButton = make('button', { type: 'button', class: 'go' });
    this.hint = make('span', { class: 'quiet hint' });
    this.error = make('div', { class: 'error', id: 'review-error', role: 'alert' });
    this.limits = make('p', { class: 'quiet limits', id: 'review-limits' });
    const form = make('div', { class: 'side' }, make('div', { class: 'label-row' }, this.label, this.examples), this.text);
    this.lesson = make('button', { type: 'button', class: 'link', onclick: () => set({ tab: 'learn', lesson: 'verdict..0' }) });
    form.append(make('div', { class: 'under' }, this.classifyButton, this.hint), this.error, this.limits, this.lesson);
    this.menu = new ClassifierMenu(this.config.models, () => this.onModelChange());
    this.verdictName = make('b', {});
    this.verdict = make('div', { class: 'verdict', role: 'status' });
    this.axis = make('div', { class: 'axis', 'aria-hidden': 'true' });
    this.bars = new ClassBars((classIndex) => this.selectClass(classIndex));
    this.sum = make('p', { class: 'quiet numeric sum' });
    this.unread = make('p', { class: 'quiet unread' });
    const answer = make(
      'div',
      { class: 'side answer' },
      make('div', { class: 'label-row' }, this.verdictName, this.menu.element),
      this.verdict,
      this.axis,
      this.bars.element,
      this.sum,
      this.unread,
    );
    this.contributions = new WordContributions();
    this.heads = new ReviewHeads();
    this.below = make('div', { class: 'below', hidden: true }, this.contributions.element, this.heads.element);
    this.root.append(make('div', { class: 'ask' }, form, answer), this.below);
  }

  listen() {
    this.classifyButton.addEventListener('click', () => this.classify());
    this.text.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.classify();
    });
    this.text.addEventListener('input', () => {
      this.fit();
      this.error.textContent = '';
    });
    this.examples.addEventListener('change', () => this.classifyExample(this.config.examples[Number(this.examples.value)]));
  }

  /** Classifies the current text with the newly selected model. */
  onModelChange() {
    this.draw();
    this.heads.reset();
    if (this.text.value.trim()) this.classify();
  }

  /** Shows the word contributions for another class. */
  selectClass(classIndex) {
    this.classIndex = classIndex;
    this.drawVerdict();
    this.contributions.show(this.review, classIndex);
  }

  classifyExample(example) {
    this.text.value = example.text;
    this.fit();
    this.classify();
  }

  /** Draws the tab; when it is first opened, classifies the text of the permalink or the first example. */
  open() {
    if (state.tab !== 'sentiment') return;
    this.draw();
    if (!this.started) this.classifyLinked(state);
    else this.drawReview();
    this.fit();
  }

  classifyLinked({ review, classifier }) {
    this.linked = { review, classifier };
    this.started = true;
    const text = review || this.config.examples[0]?.text || '';
    if (!this.menu.choose(classifier || this.menu.model?.name)) {
      this.text.value = text;
      const choices = this.menu.models.map(({ name }) => name).join(', ');
      this.fail({ word: 'unknown_model', values: { name: 'model', given: classifier.slice(0, 100), choices } });
    } else if (text) this.classifyExample({ text });
  }

  /** Applies a new permalink; missing values are the defaults. */
  applyPermalink({ review, classifier }) {
    const isUnchanged = review === this.linked.review && classifier === this.linked.classifier;
    if (isUnchanged || state.tab !== 'sentiment') return;
    this.menu.choose('');
    this.classifyLinked({ review, classifier });
  }

  async classify() {
    const text = this.text.value;
    if (!text.trim()) return this.fail({ word: 'blank_text' });
    if ([...text].length > this.config.limit) {
      return this.fail({ word: 'too_long', values: { name: this.textName, given: [...text].length, limit: this.config.limit } });
    }
    const generation = ++this.generation;
    this.root.setAttribute('aria-busy', 'true');
    this.contributions.element.removeAttribute('aria-busy');
    if (!this.review) this.verdict.textContent = t('sentiment_waiting');
    const { model } = this.menu;
    try {
      const review = await callWithRetry(this.classifyOnServer, { text, model: model?.name ?? '' });
      if (generation !== this.generation) return undefined;
      this.error.textContent = '';
      const isLinear = Boolean(model?.linear);
      const read = review.tokens.map((token, index) => ({ ...token, unknown: review.unknown.includes(index) }));
      const tokens = withPositions(read, review.text);
      this.review = { ...review, tokens, isLinear, language: model?.source ?? '' };
      this.classIndex = defaultClass(this.review);
      this.linked = reviewLink(text, this.config.examples[0]?.text, this.menu.name);
      this.review.unlinked = this.linked.isTooLong;
      set({ review: this.linked.review, classifier: this.linked.classifier });
      this.heads.reset();
      this.draw();
      await this.drawReview();
      if (!review.erased && review.erasable) this.erase(generation, { text, model: model?.name ?? '' });
    } catch (error) {
      if (!error.fault) console.warn(error);
      if (generation === this.generation) this.fail(error.fault ?? { word: 'our_fault' });
    }
    if (generation === this.generation) this.root.removeAttribute('aria-busy');
    return undefined;
  }

  /** Loads word contributions that are too slow to compute with the verdict. */
  async erase(generation, form) {
    let erased = null;
    this.contributions.element.setAttribute('aria-busy', 'true');
    try {
      ({ erased } = await callWithRetry(this.eraseOnServer, form));
    } catch (error) {
      console.warn(error);
    }
    if (generation !== this.generation) return;
    this.contributions.element.removeAttribute('aria-busy');
    Object.assign(this.review, { erased, erasable: Boolean(erased) });
    await this.drawReview();
  }

  /**
   * Shows an error, and discards a pending result.
   * @param {{ word: string, values?: any }} fault
   */
  fail({ word, values = {} }) {
    this.generation += 1;
    this.root.removeAttribute('aria-busy');
    this.error.textContent = errorText({ word, values: values.name === 'text' ? { ...values, name: this.textName } : values });
    if (!this.review) this.verdict.textContent = '';
    this.text.focus();
  }

  // ---------------------------------------------------------------- drawing

  /** Name of the text field in messages: the bundled model was trained on film reviews, others on any text. */
  get textName() {
    return this.menu.isBuiltIn ? 'review' : 'text';
  }

  draw() {
    this.lesson.textContent = t('sentiment_lesson');
    this.lesson.hidden = !document.getElementById('panel-learn');
    const { isBuiltIn, model } = this.menu;
    this.menu.draw();
    this.text.lang = model?.source ?? '';
    this.label.textContent = t(isBuiltIn ? 'sentiment_review' : 'sentiment_text');
    this.text.placeholder = t(isBuiltIn ? 'sentiment_placeholder' : 'sentiment_text_placeholder');
    this.classifyButton.textContent = t('sentiment_judge');
    this.hint.textContent = isTouch() ? '' : t('sentiment_enter');
    this.verdictName.textContent = t('sentiment_verdict');
    this.examples.setAttribute('aria-label', t('sentiment_examples'));
    const options = this.config.examples.map(({ name }, index) => make('option', { value: index }, t(`sentiment_example_${name}`)));
    replace(this.examples, make('option', { value: -1, disabled: true, hidden: true }, t('sentiment_examples')), ...options);
    this.examples.value = this.config.examples.findIndex(({ text }) => text === this.text.value);
    const card = make('button', { type: 'button', class: 'link', onclick: () => set({ tab: 'models' }) }, t('sentiment_card'));
    const english = isBuiltIn ? make('b', {}, t('sentiment_english')) : null;
    const limits = ` ${t(isBuiltIn ? 'sentiment_limits' : 'sentiment_limits_other')} `;
    replace(this.limits, english, limits, document.getElementById('panel-models') ? card : null);
    if (this.review) this.drawVerdict();
  }

  drawVerdict() {
    const { review } = this;
    const { probabilities, classes, contributions, bias, log_odds: odds, truncated } = review;
    const predicted = predictedClasses(review);
    const probability = probabilities[predicted[0]];
    const number = make(
      'span',
      { class: 'numeric', title: fourDecimals(probability) },
      t('sentiment_probability', { probability: threeDecimals(probability) }),
    );
    replace(this.verdict, make('b', {}, verdictName(review, predicted)), predicted.length === 1 ? number : null);
    this.bars.show(review, this.classIndex);
    this.axis.hidden = !isPair(review);
    const mark = make('i', { style: `left:${(100 * probabilities.at(-1)).toFixed(2)}%` });
    replace(
      this.axis,
      make('div', { class: 'line' }, mark),
      make('span', {}, className(classes[0])),
      make('span', {}, className(classes[1])),
    );
    const sum = contributions?.reduce((total, value) => total + value, 0);
    const values = { count: contributions?.length, sum: signed(sum ?? 0, 4), bias: signed(bias, 4), odds: signed(odds.at(-1), 4) };
    const description = [contributions ? t('sentiment_sum', values) : '', truncated ? t('sentiment_truncated') : ''];
    if (review.unlinked) description.push(t('sentiment_unlinked'));
    this.sum.textContent = description.filter(Boolean).join(LANGUAGES[state.language].gap);
    replace(this.unread, ...makeUnknownNote(review.tokens, review.text, review.language));
  }

  async drawReview() {
    if (!this.review || state.tab !== 'sentiment') return;
    this.below.hidden = false;
    this.contributions.show(this.review, this.classIndex);
    this.heads.show(this.review);
  }

  /** Fits the field's height to its text; long texts have a smaller font. */
  fit() {
    this.text.classList.toggle('middle', this.text.value.length > 110);
    this.text.classList.toggle('small', this.text.value.length > 240);
    this.text.style.height = 'auto';
    this.text.style.height = `${this.text.scrollHeight}px`;
  }
}
