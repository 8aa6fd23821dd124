// The Sentiment tab: type a review, read the verdict, and see what each token adds to it and where the heads look.

import { placed } from '../core/translation.js';
import { call } from '../core/boot.js';
import { make, replace, touch } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { four, signed, three } from '../core/view.js';
import { errorSays, t } from '../core/words.js';
import { ReviewHeads } from './reviewheads.js';
import { ReviewShares, className } from './reviewshares.js';

export async function mount({ element, server, props }) {
  await ready;
  new Sentiment(element, server.judge, JSON.parse(props.config));
}

class Sentiment {
  constructor(root, ask, config) {
    this.root = root;
    this.ask = ask;
    this.config = config;
    this.turn = 0;
    this.review = null;
    this.build();
    this.listen();
    on(['tab', 'language'], () => this.open());
    on(['theme', 'palette', 'scale', 'fit'], () => this.drawReview());
    this.open();
  }

  build() {
    const about = {
      class: 'text',
      id: 'review',
      rows: 3,
      lang: 'en',
      spellcheck: 'false',
      'aria-describedby': 'review-error review-limits',
    };
    this.text = make('textarea', about);
    this.label = make('label', { for: 'review' });
    this.examples = make('select', {});
    this.go = make('button', { type: 'button', class: 'go' });
    this.hint = make('span', { class: 'quiet hint' });
    this.error = make('div', { class: 'error', id: 'review-error', role: 'alert' });
    this.limits = make('p', { class: 'quiet limits', id: 'review-limits' });
    const asked = make('div', { class: 'side' }, make('div', { class: 'label-row' }, this.label, this.examples), this.text);
    asked.append(make('div', { class: 'under' }, this.go, this.hint), this.error, this.limits);
    this.verdictName = make('b', {});
    this.verdict = make('div', { class: 'verdict', role: 'status' });
    this.axis = make('div', { class: 'axis', 'aria-hidden': 'true' });
    this.sum = make('p', { class: 'quiet numeric sum' });
    const answer = make(
      'div',
      { class: 'side answer' },
      make('div', { class: 'label-row' }, this.verdictName),
      this.verdict,
      this.axis,
      this.sum,
    );
    this.shares = new ReviewShares();
    this.heads = new ReviewHeads();
    this.below = make('div', { class: 'below', hidden: true }, this.shares.element, this.heads.element);
    this.root.append(make('div', { class: 'ask' }, asked, answer), this.below);
  }

  listen() {
    this.go.addEventListener('click', () => this.judge());
    this.text.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.judge();
    });
    this.text.addEventListener('input', () => {
      this.fit();
      this.error.textContent = '';
    });
    this.examples.addEventListener('change', () => this.take(this.config.examples[Number(this.examples.value)]));
  }

  take(example) {
    this.text.value = example.text;
    this.fit();
    this.judge();
  }

  /** The first time, an example is there at once. */
  open() {
    if (state.tab !== 'sentiment') return;
    this.draw();
    if (!this.review && !this.asked && this.config.examples.length) this.take(this.config.examples[0]);
    else this.drawReview();
    this.fit();
  }

  async judge() {
    const text = this.text.value;
    if (!text.trim()) return this.fail({ word: 'blank_text' });
    if ([...text].length > this.config.limit) {
      return this.fail({ word: 'too_long', values: { name: 'review', given: [...text].length, limit: this.config.limit } });
    }
    const turn = ++this.turn;
    this.asked = true;
    this.root.setAttribute('aria-busy', 'true');
    if (!this.review) this.verdict.textContent = t('sentiment_waiting');
    try {
      const review = await call(this.ask, { text });
      if (turn !== this.turn) return undefined;
      this.error.textContent = '';
      this.review = { ...review, tokens: placed(review.tokens, review.text) };
      this.heads.reset();
      this.draw();
      await this.drawReview();
    } catch (error) {
      if (!error.fault) console.warn(error);
      if (turn === this.turn) this.fail(error.fault ?? { word: 'our_fault' });
    }
    if (turn === this.turn) this.root.removeAttribute('aria-busy');
    return undefined;
  }

  /**
   * Shows an error. A result that is still on its way must not replace it.
   * @param {{ word: string, values?: any }} fault
   */
  fail({ word, values = {} }) {
    this.turn += 1;
    this.root.removeAttribute('aria-busy');
    this.error.textContent = errorSays({ word, values: values.name === 'text' ? { ...values, name: 'review' } : values });
    if (!this.review) this.verdict.textContent = '';
    this.text.focus();
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    this.label.textContent = t('sentiment_review');
    this.text.placeholder = t('sentiment_placeholder');
    this.go.textContent = t('sentiment_judge');
    this.hint.textContent = touch() ? '' : t('sentiment_enter');
    this.verdictName.textContent = t('sentiment_verdict');
    this.examples.setAttribute('aria-label', t('sentiment_examples'));
    const options = this.config.examples.map(({ name }, place) => make('option', { value: place }, t(`sentiment_example_${name}`)));
    replace(this.examples, make('option', { value: -1, disabled: true, hidden: true }, t('sentiment_examples')), ...options);
    this.examples.value = this.config.examples.findIndex(({ text }) => text === this.text.value);
    const card = make('button', { type: 'button', class: 'link', onclick: () => set({ tab: 'models' }) }, t('sentiment_card'));
    const english = make('b', {}, t('sentiment_english'));
    replace(this.limits, english, ` ${t('sentiment_limits')} `, document.getElementById('panel-models') ? card : null);
    if (this.review) this.drawVerdict();
  }

  drawVerdict() {
    const { verdict, probability, classes, shares, bias, log_odds: odds, shortened } = this.review;
    const sure = verdict === classes[1] ? probability : 1 - probability;
    const number = make('span', { class: 'numeric', title: four(sure) }, t('sentiment_probability', { probability: three(sure) }));
    replace(this.verdict, make('b', {}, className(verdict)), number);
    const mark = make('i', { style: `left:${(100 * probability).toFixed(2)}%` });
    replace(
      this.axis,
      make('div', { class: 'line' }, mark),
      make('span', {}, className(classes[0])),
      make('span', {}, className(classes[1])),
    );
    const sum = shares.reduce((all, share) => all + share, 0);
    const says = t('sentiment_sum', { count: shares.length, sum: signed(sum, 4), bias: signed(bias, 4), odds: signed(odds, 4) });
    this.sum.textContent = says + (shortened ? ` ${t('sentiment_shortened')}` : '');
  }

  async drawReview() {
    if (!this.review || state.tab !== 'sentiment') return;
    this.below.hidden = false;
    this.shares.show(this.review);
    this.heads.show(this.review);
  }

  /** The field is as high as its text; long texts are smaller. */
  fit() {
    this.text.classList.toggle('middle', this.text.value.length > 110);
    this.text.classList.toggle('small', this.text.value.length > 240);
    this.text.style.height = 'auto';
    this.text.style.height = `${this.text.scrollHeight}px`;
  }
}
