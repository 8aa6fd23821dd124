// The lesson "Build it yourself": the model at the left, the operation as numbers, its code, and the results of the part.

import { make, replace } from '../core/dom.js';
import { faultText, t } from '../core/i18n.js';
import { saveBytes } from '../parts/save.js';
import { BuildState } from './build-state.js';
import { onArrow, onHover, selectCell, findStartCell } from './cell-pointer.js';
import { CodeListing } from './code-listing.js';
import { Fields } from './fields.js';
import { focusAgain, focusSelector } from './focus.js';
import { LargeModel } from './large-model.js';
import { LessonData } from './lesson-data.js';
import { ModelPicture } from './model-picture.js';
import { cross, mask, sidesAreRight } from './part-decoder.js';
import { drawNote, drawTask } from './part-notes.js';
import { network } from './part-network.js';
import { heads, mix, qkv, scores, words } from './part-products.js';
import { next, norm, positions, residual, scale, softmax } from './part-tables.js';
import { withSubscripts } from './product-scheme.js';
import { StageResults, sentenceText, shownVariant } from './stage-results.js';
import { wordName } from './word-name.js';

const OPERATIONS = { words, qkv, scores, scale, softmax, mix, heads, positions, residual, norm, network, mask, cross, next };
const VIEWS = { qkv: ['q', 'k', 'v'], cross: ['sides', 'weight', 'draw'] };
const SCRIPT_NAME = 'headlight_build.py';
const MAX_WRITTEN_WORDS = 3; // words of the translation that are shown above the picture

export class BuildPage {
  /**
   * @param {{ read: () => Promise<any>, run: (values: any) => Promise<any>, go: (part: string) => void, leave: () => void,
   *   openStep: (step: string) => void, tensors: any }} callbacks
   */
  constructor(callbacks) {
    this.callbacks = callbacks;
    this.data = null;
    this.draw = this.draw.bind(this);
    this.back = make('button', { type: 'button', class: 'link', onclick: () => callbacks.leave() });
    this.name = make('b', {});
    this.count = make('span', { class: 'numeric' });
    this.restart = make('button', { type: 'button', class: 'link restart', onclick: () => this.startAgain() });
    this.idea = make('h2', { tabindex: '-1' });
    this.task = make('p', { class: 'task' });
    this.view = make('div', { class: 'segments', role: 'group' });
    this.numbers = make('div', { class: 'numbers' });
    this.sum = make('p', { class: 'sum', 'aria-live': 'polite' });
    this.note = make('p', { class: 'note', role: 'status' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.picture = new ModelPicture((part) => callbacks.go(part));
    this.code = new CodeListing((text) => this.run({ part: this.state.part, text }));
    this.results = new StageResults({
      put: () => this.put(),
      skip: () => this.skip(),
      save: () => saveBytes(SCRIPT_NAME, [this.data.answer.script], 'text/x-python'),
      stage: (name) => this.chooseStage(name),
    });
    this.large = new LargeModel(callbacks);
    this.element = make('div', { class: 'build', hidden: true }, this.picture.element, this.work());
    for (const event of ['pointerover', 'focusin', 'click'])
      this.numbers.addEventListener(event, (pointerEvent) => onHover(this, pointerEvent));
    this.numbers.addEventListener('keydown', (event) => onArrow(this, event));
  }

  work() {
    const where = make('p', { class: 'build-where' }, this.back, this.name, this.count, this.restart, this.large.button);
    const operation = make(
      'section',
      { class: 'build-operation' },
      make('div', { class: 'task-line' }, this.task, this.view),
      this.numbers,
      this.sum,
      this.note,
    );
    return make(
      'div',
      { class: 'build-work' },
      where,
      this.idea,
      this.error,
      make('div', { class: 'build-columns' }, operation, this.code.element),
      this.results.element,
      this.large.element,
    );
  }

  /** Shows a part. The lesson's data are loaded only once. */
  async show(part) {
    this.element.hidden = false;
    if (!this.data && !(await this.load())) return;
    if (this.element.hidden) return; // the reader left while the data loaded
    const name = this.data.names.includes(part) ? part : this.state.part;
    if (name !== this.state.part) this.state.open(name);
    this.draw();
  }

  async load() {
    this.loading ??= this.callbacks.read();
    try {
      this.data = new LessonData(await this.loading);
    } catch (error) {
      this.loading = undefined;
      this.error.textContent = faultText(error, 'error_unreachable');
      return false;
    }
    this.error.textContent = '';
    if (!this.state) {
      this.state = new BuildState(this.data.names);
      this.fields = new Fields(this.state, (key, byEnter) => this.onField(key, byEnter));
    }
    return true;
  }

  // ---------------------------------------------------------------- drawing

  draw(focus = focusSelector(this.element)) {
    const { data, state } = this;
    const { part } = state;
    this.back.textContent = t('lesson_back');
    this.name.textContent = t('build_name');
    this.count.textContent = t('build_count', { number: state.index + 1, all: state.names.length });
    this.restart.textContent = t('build_restart');
    this.restart.hidden = state.built.size === 0;
    this.element.dataset.part = part;
    withSubscripts(this.idea, t(`build_idea_${part}`));
    this.drawOperation();
    drawTask(this);
    this.drawViews();
    this.code.draw(data, state, { isRunning: this.isRunning });
    this.picture.draw(data, state, this.writtenWords());
    this.results.draw(data, state, this.canPut);
    this.large.draw(data.part(part));
    focusAgain(this.element, focus);
  }

  drawOperation() {
    const { state } = this;
    this.fields.clear();
    this.operation = OPERATIONS[state.part]({
      data: this.data,
      state,
      fields: this.fields,
      view: state.view,
      toggleMask: (row, column) => this.toggleMask(row, column),
      chooseSide: (name, side) => this.chooseSide(name, side),
      redraw: (bar) => this.redrawBars(bar),
      refresh: () => drawNote(this, this.lastField),
    });
    this.numbers.dataset.part = state.part;
    replace(this.numbers, this.operation.element);
    const isDrawn = state.highlightedCell && this.numbers.querySelector(`[data-cell="${state.highlightedCell.join()}"]`); // phones cut rows
    selectCell(this, isDrawn ? state.highlightedCell : findStartCell(this));
    drawNote(this, this.lastField);
  }

  drawViews() {
    const { part } = this.state;
    const names = VIEWS[part] ?? [];
    const choose = (name) => {
      this.state.views[part] = name;
      this.state.highlightedCell = null;
      this.draw();
    };
    const label = (name) => (part === 'cross' ? t(`build_view_${name}`) : name);
    this.view.hidden = !names.length;
    const button = (name) =>
      make(
        'button',
        { type: 'button', 'aria-pressed': String(this.state.view === name), data: { view: name }, onclick: () => choose(name) },
        label(name),
      );
    replace(this.view, ...names.map(button));
  }

  writtenWords() {
    const { data, state } = this;
    if (!state.isBuilt('cross')) return '';
    const sentence = data.variant(shownVariant(data, state)).main;
    const text = sentenceText(sentence).split(' ');
    return `${text.slice(0, MAX_WRITTEN_WORDS).map(wordName).join(' ')}${text.length > MAX_WRITTEN_WORDS ? ' …' : ''}`;
  }

  // ---------------------------------------------------------------- actions of the reader

  /**
   * Redraws the page after a field was filled. `byEnter`: the reader pressed Enter. Otherwise the reader left the field, which
   * keeps the focus until its event ends, so the page is redrawn after the event.
   */
  onField(key, byEnter) {
    this.lastField = key;
    if (!byEnter) return void setTimeout(() => this.draw());
    const next = this.fields.status(key) === 'right' ? this.fields.next : key;
    this.draw(next === undefined ? undefined : `[data-field="${next}"]`);
  }

  toggleMask(row, column) {
    const { masked } = this.state;
    const cell = `${row},${column}`;
    if (!masked.delete(cell)) masked.add(cell);
    this.state.maskChecked = false;
    this.draw();
    this.numbers.querySelector(`[data-mask="${cell}"]`)?.focus();
  }

  async chooseSide(name, side) {
    const { state } = this;
    state.sides[name] = side;
    this.draw();
    this.numbers.querySelector(`[data-side="${name}${side}"]`)?.focus();
    if (Object.values(state.sides).every(Boolean)) await this.run({ part: 'cross', sides: { ...state.sides } });
  }

  redrawBars(bar) {
    this.draw();
    this.numbers.querySelector(`[data-bar="${bar}"]`)?.focus();
  }

  /** Runs a line on the server. The answer is ignored if a newer line was run in the meantime. */
  async run(values) {
    const { part } = values;
    this.isRunning = true;
    this.code.draw(this.data, this.state, { isRunning: true });
    const generation = (this.generation ?? 0) + 1;
    this.generation = generation;
    try {
      const verdict = await this.callbacks.run(values);
      if (generation !== this.generation) return;
      this.state.lines[part] = verdict;
      this.error.textContent = '';
    } catch (error) {
      if (generation === this.generation) this.error.textContent = faultText(error, 'error_unreachable');
    } finally {
      if (generation === this.generation) {
        this.isRunning = false;
        this.draw();
      }
    }
  }

  get canPut() {
    const { state } = this;
    const line = state.lines[state.part];
    if (!line?.passes) return false;
    if (state.part === 'mask') return Boolean(this.operation.isDone);
    if (state.part === 'cross') return state.drewRow && sidesAreRight(state.sides);
    return this.fields.areSolved;
  }

  put() {
    const { state } = this;
    if (!state.isBuilt()) {
      state.put();
      this.draw();
    } else if (state.index === state.names.length - 1) {
      this.large.open();
    } else {
      this.callbacks.go(state.names[state.index + 1]);
      this.idea.focus();
    }
  }

  /** Shows the answer of a part; in the finished model, removes the part or puts it back. */
  async skip() {
    const { state } = this;
    const { part } = state;
    if (state.isBuilt()) {
      state.removed = state.removed ? '' : part;
      this.draw();
      return;
    }
    this.fields.solve();
    if (part === 'mask') solveMask(state, this.data.readWords.length);
    if (part === 'cross') solveCross(state, this.data.answer.rows_to_draw);
    this.draw();
    await this.run(part === 'cross' ? { part, sides: { ...state.sides } } : { part, text: this.data.part(part).right });
  }

  chooseStage(name) {
    this.state.stage = this.state.stage === name ? '' : name;
    this.state.removed = '';
    this.results.draw(this.data, this.state, this.canPut);
  }

  startAgain() {
    this.state.restart();
    this.callbacks.go(this.state.part);
    this.draw();
  }
}

function solveCross(state, rows) {
  state.sides = { q: 'y', k: 'm', v: 'm' };
  state.bars = [...rows[state.drawnRow % rows.length].weights];
  state.barsCompared = true;
  state.drewRow = true;
}

function solveMask(state, count) {
  state.masked = new Set();
  for (let row = 0; row < count; row++) for (let column = row + 1; column < count; column++) state.masked.add(`${row},${column}`);
  state.maskChecked = true;
}
