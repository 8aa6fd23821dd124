// The Positions tab: all positional encodings, the one of the current model first. The server draws their figures.

import { callWithRetry, loadPlotly } from '../core/boot.js';
import { make, replace } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { faultText, t } from '../core/i18n.js';
import { EncodingFigures } from './figures.js';
import { formulaLines } from './formulas.js';

const [MIN_LENGTH, MAX_LENGTH] = [2, 100]; // numbers of positions
const DEBOUNCE_MS = 80; // milliseconds between a change of the length slider and the request
const MAX_CACHED = 40; // maximum number of cached answers

/** @param {import('../core/server.js').Mounted} mounted */
export async function mount({ element, server }) {
  await ready;
  new PositionsTab(element, server.position_encoding);
}

class PositionsTab {
  constructor(root, getEncoding) {
    this.root = root;
    this.getEncoding = getEncoding;
    this.encoding = null;
    this.length = null;
    this.generation = 0; // incremented to discard responses of earlier requests
    this.cache = new Map();
    this.answer = null;
    this.build();
    this.listen();
    on(['tab', 'translation', 'theme', 'language'], () => this.load());
    this.load();
  }

  build() {
    this.lead = make('p', {});
    this.lesson = make('button', { type: 'button', class: 'link', onclick: () => set({ tab: 'learn', lesson: 'positions..0' }) });
    this.list = make('div', { class: 'encodings', role: 'radiogroup' });
    this.title = make('h2', {});
    this.ownTag = make('span', { class: 'own' });
    this.description = make('p', { class: 'explains' });
    this.formula = make('div', { class: 'formula' });
    this.usage = make('p', { class: 'quiet' });
    this.note = make('p', { class: 'says-so', role: 'status' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.slider = make('input', { type: 'range', min: MIN_LENGTH, max: MAX_LENGTH, step: 1 });
    this.lengthName = make('span', {});
    this.lengthText = make('output', { class: 'numeric' });
    this.resetButton = make('button', { type: 'button', class: 'link' });
    const length = make('label', { class: 'picker' }, this.lengthName, this.slider, this.lengthText);
    this.controls = make('div', { class: 'controls' }, length, this.resetButton);
    this.figures = new EncodingFigures();
    const head = make('div', { class: 'headline' }, this.title, this.ownTag);
    const texts = make('div', { class: 'told' }, head, this.description, this.formula, this.usage);
    const detail = make('div', { class: 'detail' }, texts, this.controls, this.note, this.error, this.figures.element);
    this.root.append(make('div', { class: 'lead' }, this.lead, this.lesson), make('div', { class: 'two' }, this.list, detail));
  }

  listen() {
    this.list.addEventListener('click', (event) => {
      const button = event.target.closest('[data-encoding]');
      if (button) this.choose(button.dataset.encoding);
    });
    this.list.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step || !this.answer) return;
      event.preventDefault();
      event.stopPropagation();
      const { choices, encoding } = this.answer;
      this.choose(choices[(choices.indexOf(this.encoding ?? encoding) + step + choices.length) % choices.length]);
    });
    this.slider.addEventListener('input', () => {
      this.length = Number(this.slider.value);
      this.lengthText.textContent = this.length;
      clearTimeout(this.debounceTimer);
      this.debounceTimer = setTimeout(() => this.load(), DEBOUNCE_MS);
    });
    this.resetButton.addEventListener('click', () => {
      this.length = null;
      this.load();
    });
  }

  // ---------------------------------------------------------------- requests

  choose(encoding) {
    this.encoding = encoding;
    this.load();
  }

  /** The number of positions: the selected length, or the length of the sentence if none is selected. */
  countPositions() {
    return Math.min(MAX_LENGTH, Math.max(MIN_LENGTH, this.length ?? state.translation.source.length));
  }

  async load() {
    if (state.tab !== 'positions' || !state.translation) return;
    const generation = ++this.generation;
    const { theme, language } = state;
    const model = state.translation.model.name;
    if (model !== this.model) this.encoding = null; // show the encoding of a new model first
    this.model = model;
    const request = { model, theme, language, length: this.countPositions(), ...(this.encoding && { encoding: this.encoding }) };
    const key = JSON.stringify(request);
    this.root.setAttribute('aria-busy', 'true');
    try {
      const [answer, plotly] = await Promise.all([this.cache.get(key) ?? callWithRetry(this.getEncoding, request), loadPlotly()]);
      if (this.cache.size >= MAX_CACHED) this.cache.delete(this.cache.keys().next().value);
      this.cache.set(key, answer);
      if (generation !== this.generation) return;
      this.error.textContent = '';
      this.draw(plotly, answer);
    } catch (error) {
      if (generation === this.generation) this.error.textContent = faultText(error);
    }
    if (generation === this.generation) this.root.removeAttribute('aria-busy');
  }

  // ---------------------------------------------------------------- drawing

  draw(plotly, answer) {
    const { encoding, own, form } = answer;
    this.answer = answer;
    this.encoding = encoding;
    this.lead.textContent = t('positions_lead');
    this.lesson.textContent = t('positions_lesson');
    this.lesson.hidden = !document.getElementById('panel-learn');
    this.title.textContent = t(`positions_name_${encoding}`);
    this.ownTag.textContent = encoding === own ? t('positions_own', { model: this.model }) : '';
    this.description.textContent = t(`positions_says_${encoding}`) + (answer.beside ? ` ${t('positions_beside')}` : '');
    const baseEncoding = encoding === 'sinusoidal_halves' ? 'sinusoidal' : encoding;
    replace(this.formula, ...formulaLines(answer));
    this.usage.textContent = t(`positions_where_${baseEncoding}`, answer);
    this.note.textContent = this.noteText(form, answer);
    this.drawList(answer);
    this.drawControls(answer);
    this.figures.draw(plotly, answer);
  }

  noteText(form, { trained }) {
    if (form === 'nothing') return t('positions_nothing');
    if (form === 'untrained') return t('positions_untrained', { model: this.model });
    if (form === 'buckets') return t('positions_buckets_note', { model: this.model });
    return trained ? t('positions_trained', { model: this.model }) : '';
  }

  drawList({ choices, encoding, own }) {
    const focused = this.list.contains(document.activeElement);
    this.list.setAttribute('aria-label', t('positions_which'));
    const buttons = choices.map((name) => {
      const isSelected = name === encoding;
      const attributes = {
        type: 'button',
        role: 'radio',
        'aria-checked': String(isSelected),
        tabindex: isSelected ? 0 : -1,
        data: { encoding: name },
      };
      const mark = name === own ? make('i', {}, t('positions_own', { model: this.model })) : null;
      return make('button', attributes, make('b', {}, t(`positions_name_${name}`)), make('span', {}, t(`positions_short_${name}`)), mark);
    });
    replace(this.list, ...buttons);
    if (focused) this.list.querySelector('[aria-checked=true]').focus({ preventScroll: true });
  }

  drawControls(answer) {
    const count = state.translation.source.length;
    this.lengthName.textContent = t('positions_length');
    this.slider.value = answer.length;
    this.lengthText.textContent = answer.length;
    this.resetButton.textContent = t('positions_as_sentence', { count });
    this.resetButton.hidden = this.length === null;
    this.controls.hidden = !answer.figure;
  }
}
