// Sentence and translation: type, press Enter, read. What the server says comes here and becomes the page's answer.

import { Answer } from './answer.js';
import { make, replace } from './dom.js';
import { readLink, withinAnswer } from './link.js';
import { mountOptions } from './options.js';
import { ready } from './page.js';
import { LET_GO, on, set, state } from './state.js';
import { Translation } from './translation.js';
import { errorSays, languageName, t } from './words.js';

export async function mount({ element, trigger, props, watch }) {
  await ready;
  new Desk(element, trigger, props, watch);
}

class Desk {
  constructor(root, trigger, props, watch) {
    Object.assign(this, { root, trigger, props, turn: 0 });
    this.config = JSON.parse(props.config);
    state.usualRequest = this.config.usual;
    this.build();
    watch('value', () => this.hear(JSON.parse(props.value)));
    on(['language'], () => this.draw());
    on(['busy'], () => this.drawButton());
    addEventListener('headlight-link', () => this.followLink());
    addEventListener('headlight-model', (event) => this.useModel(event.detail.name));
    addEventListener('headlight-request', (event) => this.translate(event.detail));
    this.hear(JSON.parse(props.value));
    this.draw();
    this.followLink();
    new ResizeObserver(() => this.fit()).observe(this.sentence);
  }

  build() {
    this.sourceName = make('b', {});
    this.targetName = make('b', {});
    this.sentence = make('textarea', { class: 'text', id: 'sentence', rows: 2, spellcheck: 'false', dir: 'auto', 'aria-describedby': 'sentence-error' });
    this.examples = make('select', { id: 'examples' });
    this.go = make('button', { type: 'button', class: 'go' });
    this.hint = make('span', { class: 'quiet hint' });
    this.more = make('button', { type: 'button', class: 'link', 'aria-expanded': 'false', 'aria-controls': 'options' });
    this.error = make('div', { class: 'error', id: 'sentence-error', role: 'alert' });
    this.meta = make('span', { class: 'quiet numeric meta' });
    this.undo = make('button', { type: 'button', class: 'link', hidden: true });
    this.beyond = make('p', { class: 'beyond', role: 'status' });
    this.sure = make('span', {});
    this.unsure = make('span', {});
    this.translation = new Translation((place, id) => this.continueFrom(place, id));
    this.options = mountOptions(this.config, () => this.translate());
    const key = make('span', { class: 'doubt-key', 'aria-hidden': 'true' }, this.sure, make('i', {}), make('i', {}), make('i', {}), this.unsure);
    const source = make('div', { class: 'side' });
    source.append(
      make('div', { class: 'label-row' }, make('label', { for: 'sentence' }, this.sourceName), this.examples),
      make('div', { class: 'field' }, this.sentence),
      make('div', { class: 'under' }, this.go, this.hint, this.more, this.error),
    );
    const target = make('div', { class: 'side' });
    target.append(
      make('div', { class: 'label-row' }, this.targetName, key),
      make('div', { class: 'out' }, this.translation.element),
      make('div', { class: 'under' }, this.meta, this.undo, this.beyond),
    );
    this.root.classList.add('desk');
    this.root.append(source, target, this.options.element, this.translation.popup);
    this.listen();
  }

  listen() {
    this.go.addEventListener('click', () => (state.busy ? this.stop() : this.translate()));
    this.sentence.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.translate();
    });
    this.sentence.addEventListener('input', () => {
      this.fit();
      this.error.textContent = '';
    });
    this.more.addEventListener('click', () => this.unfold(this.options.element.hidden));
    this.undo.addEventListener('click', () => this.translate());
    this.examples.addEventListener('change', () => {
      const { model, text } = this.config.examples[Number(this.examples.value)];
      this.take(model, text);
    });
  }

  /** Another model, with a sentence that it can read. */
  useModel(name) {
    this.take(name, this.config.examples.find((each) => each.model === name)?.text ?? this.sentence.value);
  }

  take(model, text) {
    this.options.setModel(model);
    this.sentence.value = text;
    this.fit();
    this.translate();
  }

  unfold(open) {
    this.options.element.hidden = !open;
    this.more.setAttribute('aria-expanded', String(open));
  }

  // ---------------------------------------------------------------- asking

  /** The request as it stands in the fields; `more` overrides. */
  request(more = {}) {
    return { ...this.config.usual, ...this.options.values(), text: this.sentence.value, ...more };
  }

  translate(more = {}) {
    this.clearErrors();
    if (!this.sentence.value.trim()) {
      this.fail({ field: 'text', word: 'blank_text', values: {} });
      this.sentence.focus();
      return;
    }
    const characters = [...this.sentence.value].length;
    if (characters > this.config.limits.characters) {
      this.fail({ field: 'text', word: 'too_long', values: { name: 'text', given: characters, limit: this.config.limits.characters } });
      return;
    }
    this.turn += 1;
    this.following = null;
    set({ busy: true });
    this.trigger('submit', { request: JSON.stringify({ turn: this.turn, ...this.request(more) }) });
  }

  stop() {
    this.trigger('stop', { turn: this.turn });
    this.turn += 1; // whatever still arrives is of no interest
    set({ busy: false });
    this.showAnswer();
    this.meta.textContent = t('stopped');
  }

  continueFrom(place, id) {
    const before = this.translation.tokens.slice(0, place).map((token) => token.id);
    this.translation.close();
    this.translate({ prefix: [...before, id], target: null });
  }

  /** An address that names another sentence: translate that. */
  followLink() {
    const { request, ...selection } = readLink();
    if (!request.text) return;
    const wanted = { ...this.config.usual, ...request };
    this.sentence.value = wanted.text;
    this.options.set(wanted);
    this.fit();
    const given = state.answer?.asked() ?? {};
    const differs = (name) => JSON.stringify(given[name] ?? null) !== JSON.stringify(wanted[name]);
    if (!Object.keys(wanted).some(differs)) return;
    this.translate({ prefix: wanted.prefix, target: wanted.target });
    this.following = selection; // what to look at once it is there
  }

  // ---------------------------------------------------------------- hearing

  hear(news) {
    // The first answer has no number; Gradio may set it once more while it still settles, after a quick visitor has asked.
    if ((news.turn ?? 0) !== this.turn) return;
    if (news.what === 'progress') this.translation.show(news.target, news.text, this.language());
    if (news.what === 'error') {
      set({ busy: false });
      this.fail(news);
      this.showAnswer();
    }
    if (news.what === 'answer') {
      const answer = new Answer(news);
      const first = !state.answer;
      const stays = first || sameShape(state.answer, answer) ? {} : LET_GO;
      const selection = { ...state, ...stays, ...this.following };
      this.following = null;
      set({ answer, busy: false, preview: null, ...stays, ...this.begin(answer, selection, first) });
      if (!this.sentence.value) this.sentence.value = answer.request.text;
      this.options.setModel(answer.request.model);
      this.draw();
    }
  }

  /** A first visit begins with the head that aligns words best; an address knows what it wants. */
  begin(answer, selection, first) {
    const wanted = readLink();
    const best = answer.model.best_head;
    const free = ['kind', 'layer', 'head'].every((name) => wanted[name] === undefined);
    if (first && best && free) return withinAnswer(answer, { ...selection, kind: 'cross', ...best });
    return withinAnswer(answer, selection);
  }

  showAnswer() {
    const { answer } = state;
    if (!answer) return;
    const { prefix, target } = answer.request;
    const forced = Array.isArray(prefix) ? prefix.length - 1 : null;
    this.translation.show(answer.target, answer.text, { forced, ...this.language() });
    this.undo.hidden = forced === null && !Array.isArray(target);
    this.beyond.textContent = answer.beyond ? t('beyond') : '';
    const told = { device: answer.device.toUpperCase(), seconds: answer.seconds.toFixed(2), read: answer.source.length, written: answer.target.length };
    this.meta.textContent = t('meta', told) + (forced === null ? '' : ` · ${t('continued')}`);
    this.fit();
  }

  language() {
    return { language: state.answer?.model.target ?? '' };
  }

  // ---------------------------------------------------------------- errors, each beside its field

  fail({ field, word, values }) {
    const says = errorSays({ word, values });
    if (this.options.fail(field, says)) this.unfold(true);
    else this.error.textContent = says;
  }

  clearErrors() {
    this.error.textContent = '';
    this.options.clear();
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    const { answer } = state;
    this.sourceName.textContent = answer ? languageName(answer.model.source) : '';
    this.targetName.textContent = answer ? languageName(answer.model.target) : '';
    if (answer) this.sentence.lang = answer.model.source;
    this.sentence.placeholder = t('sentence_placeholder');
    this.hint.textContent = t('enter_translates');
    this.more.textContent = t('options');
    this.undo.textContent = t('undo');
    this.sure.textContent = t('sure');
    this.unsure.textContent = t('unsure');
    this.examples.setAttribute('aria-label', t('examples'));
    const chosen = this.config.examples.findIndex((each) => each.text === this.sentence.value);
    const options = this.config.examples.map(({ name }, place) => make('option', { value: place }, t(`example_${name}`)));
    replace(this.examples, make('option', { value: -1, disabled: true, hidden: true }, t('examples')), ...options);
    this.examples.value = chosen;
    this.options.draw();
    this.drawButton();
    this.showAnswer();
  }

  drawButton() {
    this.go.textContent = t(state.busy ? 'stop' : 'translate');
    this.go.classList.toggle('stops', state.busy);
  }

  /** Long sentences step down in size, both sides alike; the field is as high as its text. */
  fit() {
    const length = this.sentence.value.length;
    for (const element of [this.sentence, this.translation.element]) {
      element.classList.toggle('middle', length > 110 && length <= 240);
      element.classList.toggle('small', length > 240);
    }
    this.sentence.style.height = 'auto';
    this.sentence.style.height = `${this.sentence.scrollHeight}px`;
  }
}

const ids = (tokens) => tokens.map((token) => token.id).join();
const sameShape = (one, other) => one && ids(one.source) === ids(other.source) && ids(one.target) === ids(other.target);
