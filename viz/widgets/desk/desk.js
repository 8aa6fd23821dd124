// Sentence and translation: type, press Enter, read. What the server says comes here and becomes the page's answer.

import { Answer, placed } from '../core/answer.js';
import { make, replace } from '../core/dom.js';
import { lookOf, readLink, withinAnswer } from '../core/link.js';
import { ready } from '../core/page.js';
import { Silence } from '../core/silence.js';
import { LET_GO, on, set, state } from '../core/state.js';
import { errorSays, languageName, t } from '../core/words.js';
import { Translation } from '../parts/translation.js';
import { Chooser } from './chooser.js';
import { mountOptions } from './options.js';

export async function mount({ element, trigger, props, watch }) {
  await ready;
  new Desk(element, trigger, props, watch);
}

class Desk {
  constructor(root, trigger, props, watch) {
    Object.assign(this, { root, trigger, props, turn: 0, silence: new Silence(() => this.lose()) });
    this.config = JSON.parse(props.config);
    state.usualRequest = this.config.usual;
    this.build();
    watch('value', () => props.value && this.hear(JSON.parse(props.value))); // of a request that was stopped, nothing comes
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
    const take = (model) => this.take(model, this.sentence.value);
    this.chooser = new Chooser(this.config, { take, ask: (waits) => this.askAgain(waits), again: () => this.translate() });
    const { menu, offer } = this.chooser;
    const [reads, writes] = this.chooser.languages;
    reads.name.append(make('label', { for: 'sentence' }, this.sourceName));
    writes.name.append(this.targetName);
    const key = make('span', { class: 'doubt-key', 'aria-hidden': 'true' }, this.sure, make('i', {}), make('i', {}), make('i', {}), this.unsure);
    const source = make('div', { class: 'side' });
    source.append(
      make('div', { class: 'label-row' }, reads.element, menu.element, this.examples),
      make('div', { class: 'field' }, this.sentence),
      make('div', { class: 'under' }, this.go, this.hint, this.more, this.error, offer.element),
    );
    const target = make('div', { class: 'side' });
    target.append(
      make('div', { class: 'label-row' }, writes.element, key),
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
    this.undo.addEventListener('click', () => {
      this.options.clearTarget();
      this.translate();
    });
    this.examples.addEventListener('change', () => {
      const { model, text } = this.config.examples[Number(this.examples.value)];
      this.take(model, text);
    });
  }

  /** Another model, with a sentence that it can read. */
  useModel(name) {
    const example = this.config.examples.find((each) => each.model === name);
    if (example) this.take(name, example.text);
    else this.chooser.choose(name);
  }

  take(model, text) {
    this.chooser.settle({ model });
    this.options.clearTarget();
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
    const text = this.sentence.value;
    const model = more.model ?? this.chooser.model;
    const given = this.options.values(model);
    // One's own translation belongs to the sentence that it was scored with.
    if (given.target && given.target === this.asked?.target && text !== this.asked.text) given.target = null;
    return { ...given, ...this.chooser.asked(model), text, ...more };
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
    this.options.change(more, state.usuals[more.model ?? this.chooser.model]);
    this.ask(this.request(more));
  }

  ask(request, cut = false) {
    this.turn += 1;
    Object.assign(this, { asked: request, cut, written: [], following: null });
    this.chooser.settle(request);
    this.options.set(request);
    this.stopped('');
    set({ busy: true, unanswered: null });
    this.trigger('submit', { request: JSON.stringify({ turn: this.turn, ...request }) });
    this.silence.wait();
  }

  /** What an address asked for, of a model that was not here then; a sentence that was typed since counts for more. */
  askAgain({ request, following }) {
    if (request.text !== this.sentence.value) {
      this.take(request.model, this.sentence.value);
      return;
    }
    this.ask(request);
    this.following = following;
  }

  /** Gradio loads the page anew once the server is back: its address then says what was asked for. */
  lose() {
    set({ unanswered: this.asked });
    this.drop();
    this.fail({ field: 'text', word: 'unreachable' });
  }

  /** Whatever still arrives of what was asked is of no interest; the last answer stands. */
  drop() {
    this.turn += 1;
    this.silence.end();
    set({ busy: false });
    this.showAnswer();
  }

  /** Say that a translation was stopped. What is shown may belong to another sentence than the one in the field. */
  stopped(word) {
    this.says = word;
    this.root.closest('.gradio-container')?.classList.toggle('stale', word === 'stopped_before');
  }

  /** What is written by now stays, with all its attention; before the first word, the last translation does. */
  stop() {
    if (this.written.length) {
      this.ask({ ...this.asked, target: this.written.map((token) => token.id), prefix: null }, true);
      return;
    }
    this.stopped(this.sentence.value === state.answer.request.text ? 'stopped' : 'stopped_before');
    this.leave();
  }

  leave() {
    this.trigger('stop', { turn: this.turn });
    this.drop();
  }

  continueFrom(place, id) {
    const before = this.translation.tokens.slice(0, place).map((token) => token.id);
    this.translation.close();
    this.translate({ prefix: [...before, id], target: null });
  }

  /** An address that names another sentence: translate that. One that names a model alone: its example. */
  followLink() {
    const { request, ...look } = readLink();
    const text = request.text ?? this.config.examples.find((each) => each.model === request.model)?.text ?? (request.model && state.answer?.request.text);
    if (!text) return;
    const { model = this.config.usual.model, source_language = '', target_language = '' } = request;
    const wanted = { prefix: null, target: null, ...state.usuals[model], ...request, model, source_language, target_language, text };
    if (wanted.temperature > 0) wanted.beam_size = 1;
    this.sentence.value = text;
    this.chooser.settle(wanted);
    this.options.leave();
    this.options.change(request, state.usuals[model]);
    this.options.set(wanted);
    this.fit();
    if (isAsked(wanted, state.answer?.asked())) {
      this.stopped('');
      if (state.busy) this.leave();
      else this.showAnswer();
    } else if (!state.busy || !isAsked(wanted, this.asked)) {
      const { prefix, target } = wanted;
      this.translate({ model, prefix, target });
      this.following = look; // what to look at once it is there
    }
  }

  /** A link that asks for what there is not shows the rest of it, with the complaint beside the field. */
  recover(field) {
    const usual = { ...this.config.usual, ...state.usuals[this.asked.model] }[field];
    if (!this.following || usual === undefined || this.asked[field] === usual) return false;
    const { following } = this;
    this.options.leave(field);
    if (field === 'model') {
      const { prefix, target } = this.asked;
      this.chooser.settle({ model: usual });
      this.ask(this.request({ prefix, target }));
    } else this.ask({ ...this.asked, [field]: usual });
    this.following = following;
    return true;
  }

  // ---------------------------------------------------------------- hearing

  hear(news) {
    // The first answer has no number; Gradio may set it once more while it still settles, after a quick visitor has asked.
    if ((news.turn ?? 0) !== this.turn) return;
    if (state.busy) this.silence.wait();
    if (news.what === 'progress') {
      this.written = news.target;
      this.translation.show(placed(news.target, news.text), news.text, this.language());
    }
    if (news.what === 'error') {
      this.fail(news);
      if (!this.recover(news.field)) this.drop();
    }
    if (news.what === 'answer') {
      const answer = new Answer(news);
      const first = !state.answer;
      const stays = first || sameShape(state.answer, answer) ? {} : LET_GO;
      const linked = first ? readLink() : this.following; // a first visit begins with what the address wants
      const look = linked ? lookOf(answer, linked) : withinAnswer(answer, { ...state, ...stays });
      this.following = null;
      this.silence.end();
      set({ answer, busy: false, preview: null, ...stays, ...look });
      if (!this.sentence.value) this.sentence.value = answer.request.text;
      this.chooser.settle(answer.request);
      state.usuals[answer.model.name] ??= answer.model.usual;
      this.options.settle(state.usuals[answer.model.name]);
      this.draw();
    }
  }

  showAnswer() {
    const { answer } = state;
    if (!answer) return;
    const { prefix, target } = answer.request;
    const forced = Array.isArray(prefix) ? prefix.length - 1 : null;
    this.translation.show(answer.target, answer.text, { forced, ...this.language() });
    this.undo.hidden = forced === null && target === null;
    this.beyond.textContent = answer.beyond ? t('beyond') : '';
    const told = { device: answer.device.toUpperCase(), seconds: answer.seconds.toFixed(2), read: answer.source.length, written: answer.target.length };
    const how = forced !== null ? 'continued' : typeof target === 'string' ? 'scored' : this.cut && target !== null && 'cut';
    this.meta.textContent = this.says ? t(this.says) : t('meta', told) + (how ? ` · ${t(how)}` : '');
    this.fit();
  }

  language() {
    return { language: state.answer?.model.target ?? '' };
  }

  // ---------------------------------------------------------------- errors, each beside its field

  fail({ field, word, values }) {
    if (field === 'model' || field.endsWith('_language')) {
      this.chooser.fail({ word, values }, this.asked, this.following);
      return;
    }
    const says = errorSays({ word, values });
    if (this.options.fail(field, says)) this.unfold(true);
    else this.error.textContent = says;
  }

  clearErrors() {
    this.error.textContent = '';
    this.chooser.offer.complain(null);
    this.options.clear();
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    const { answer } = state;
    this.sourceName.textContent = (answer && languageName(answer.model.source)) || t('side_source');
    this.targetName.textContent = (answer && languageName(answer.model.target)) || t('side_target');
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
    this.chooser.draw();
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

/** Whether a request is the one that an answer, or another request, was asked with. */
const isAsked = (wanted, given = {}) => Object.keys(wanted).every((name) => JSON.stringify(given[name] ?? null) === JSON.stringify(wanted[name] ?? null));
const ids = (tokens) => tokens.map((token) => token.id).join();
const sameShape = (one, other) => one && ids(one.source) === ids(other.source) && ids(one.target) === ids(other.target);
