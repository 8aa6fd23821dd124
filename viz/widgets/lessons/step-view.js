// One step on the page: diagram, figures, formula, source, question and navigation.

import { icon, make, isNarrow, fillElements, replace, updateScrollable } from '../core/dom.js';
import { set } from '../core/state.js';
import { languageName, t } from '../core/i18n.js';
import { stepButtons } from '../parts/step-buttons.js';
import { formulaCaption, storedNote, countTruncatedTokens } from './captions.js';
import { Controls } from './controls.js';
import { ArchitectureDiagram } from './architecture-diagram.js';
import { drawFigures } from './tensor-figures.js';
import { formula, formulaLines } from './formula.js';
import { drawProducts } from './product-view.js';
import { scrollToTitle } from './scroll.js';
import { stepNumbers } from './step-numbers.js';
import { phraseValues, noteKey, titleKey, wordsKey, formulaFor } from './step-phrases.js';
import { drawPickers } from './head-pickers.js';
import { recordUnasked } from './progress.js';
import { Question, makeQuestion } from './question.js';
import { sourceBox } from './source-listing.js';
import { TrainingView } from './training-view.js';

const BOLD_VALUES = ['token', 'row', 'written', 'read', 'key'];
const PLAY = 'M5 3.500l9 5.500-9 5.500z';
const PAUSE = 'M5 4h3v10H5zM10 4h3v10h-3z';

export class StepView {
  /** `callbacks`: those of the player (lesson-player.js); `training`: server calls for training. */
  constructor(callbacks, training) {
    this.callbacks = callbacks;
    this.training = new TrainingView(training);
    this.base = ''; // phrase prefix of the displayed step
    this.framedBase = ''; // phrase prefix of the displayed or pending step
    this.back = make('button', { type: 'button', class: 'link', onclick: () => callbacks.back() });
    this.name = make('span', { class: 'where' });
    this.pickers = make('div', { class: 'pickers' });
    const navigation = make('div', { class: 'crumb' }, this.back, this.name, this.pickers);
    this.drawing = new ArchitectureDiagram();
    const [previous, next] = stepButtons((step) => callbacks.move(step));
    this.previous = previous;
    this.next = next;
    this.playing = make('button', { type: 'button', class: 'round', onclick: () => callbacks.play() });
    this.slider = make('input', { type: 'range', min: 0, step: 1 });
    this.slider.addEventListener('input', () => callbacks.step(Number(this.slider.value)));
    this.count = make('span', { class: 'count numeric' });
    const buttons = make('div', { class: 'ways' }, this.previous, this.next, this.playing, this.slider, this.count);
    this.title = make('h2', { 'aria-live': 'polite' });
    this.words = make('p', { class: 'words' });
    this.busyNote = make('p', { class: 'quiet doing', role: 'status' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.retryButton = make('button', { type: 'button', class: 'link', hidden: true, onclick: () => callbacks.again() });
    this.tokens = make('div', { class: 'lesson-row-of-tokens', role: 'group' });
    this.parts = make('div', { class: 'segments', role: 'group' });
    this.controls = new Controls((control, value) => callbacks.set(control, value));
    this.figure = make('div', { class: 'figure' });
    this.truncationNote = make('p', { class: 'quiet', hidden: true });
    this.formulas = make('div', { class: 'formulas' });
    this.question = new Question((choice) => callbacks.answer(choice));
    this.source = make('div', {});
    this.tabLink = make('button', { type: 'button', class: 'link more', hidden: true });
    this.lessonLink = make('button', { type: 'button', class: 'link more', hidden: true });
    const { controls, question } = this;
    const figures = [controls.element, this.truncationNote, this.figure, this.tabLink, this.lessonLink, question.element];
    const left = make('div', { class: 'left' }, this.tokens, this.parts, ...figures);
    this.body = make('div', { class: 'body' }, left, this.formulas, this.training.pickers);
    const step = make(
      'div',
      { class: 'step' },
      buttons,
      this.title,
      this.busyNote,
      this.words,
      this.error,
      this.retryButton,
      this.body,
      this.source,
    );
    this.element = make('div', { class: 'lesson' }, navigation, make('div', { class: 'walk' }, this.drawing.element, step));
  }

  // ---------------------------------------------------------------- immediate content

  /** Draws the parts that need no tensors: the diagram, the navigation and the title. */
  frame({ lesson, stepIndex, part, playing, look, chosenOption, normFirst }, translation) {
    const { steps } = lesson;
    const titles = steps.map(({ name }) => t(`lesson_${lesson.name}_${name}_title`));
    this.back.textContent = t('lesson_back');
    this.name.textContent = t(`lesson_${lesson.name}_name`);
    this.element.classList.toggle('drawn', lesson.drawing);
    if (lesson.drawing) {
      const layers = { encoder: translation.layers('encoder'), decoder: translation.layers('decoder') };
      const { source, target } = translation.model;
      const languages = /** @type {[string, string]} */ ([source, target].map((code) => (code ? languageName(code) : '')));
      this.drawing.draw(
        { steps, stepIndex, layers, normFirst, sides: languages, onStep: (step) => this.callbacks.step(step), titles },
        isNarrow(),
      );
    }
    for (const [button, word] of [
      [this.previous, 'lesson_previous'],
      [this.next, 'lesson_next'],
    ])
      for (const attribute of ['aria-label', 'title']) button.setAttribute(attribute, t(word));
    const lastIndex = steps.length - 1;
    this.previous.disabled = stepIndex === 0 && !part;
    this.next.disabled = false;
    replace(this.playing, icon(18, [{ d: playing ? PAUSE : PLAY, fill: 'currentColor', stroke: 'none' }]));
    for (const attribute of ['aria-label', 'title']) this.playing.setAttribute(attribute, t(playing ? 'lesson_pause' : 'lesson_play'));
    Object.assign(this.slider, { max: lastIndex, value: stepIndex });
    this.slider.style.setProperty('--share', `${lastIndex ? (100 * stepIndex) / lastIndex : 0}%`);
    this.slider.setAttribute('aria-label', t('lesson_step'));
    this.count.textContent = `${stepIndex + 1} / ${steps.length}`;
    const base = `lesson_${lesson.name}_${steps[stepIndex].name}`;
    const isOpen = Boolean(steps[stepIndex].ask?.hides_answer) && chosenOption === undefined;
    if (this.base !== base) this.setTitle(t(titleKey(base, [], isOpen))); // may depend on the result
    if (this.framedBase !== base && scrollY) scrollToTitle(this.title, this.drawing.element);
    this.framedBase = base;
    this.controls.showPending(look.set);
    drawPickers(this.pickers, steps[stepIndex], { look, translation, pick: this.callbacks.pick });
  }

  setTitle(title) {
    this.title.textContent = title;
    this.slider.setAttribute('aria-valuetext', title);
  }

  /** Whether a control has the focus. */
  isSetting() {
    return this.controls.element.contains(document.activeElement);
  }

  /**
   * While tensors load, fade the old figure and disable its question. If the pending step (`base`) is not the displayed
   * one, hide the old content but keep its space, so that the layout does not shift.
   */
  setBusy(isBusy, base = '') {
    const isOtherStep = isBusy && this.base !== base;
    this.element.classList.toggle('loading', isBusy);
    this.question.element.inert = isBusy;
    for (const part of [this.words, this.body, this.source]) part.classList.toggle('outdated', isOtherStep);
    this.busyNote.textContent = isOtherStep ? t('lesson_computing') : '';
    if (isBusy) {
      this.error.textContent = '';
      this.retryButton.hidden = true;
    }
  }

  /** @param {import('./step-scene.js').StepScene} scene the failed step; its controls stay visible */
  showError(message, scene) {
    this.error.textContent = message;
    this.retryButton.textContent = t('lesson_again');
    this.retryButton.hidden = false;
    this.base = `lesson_${scene.step.lesson}_${scene.step.name}`;
    replace(this.words);
    if (!this.controls.belongsTo(scene.step)) this.controls.hide();
    this.training.leave();
    for (const element of [this.figure, this.formulas, this.tokens, this.parts, this.source]) replace(element);
    this.question.element.hidden = true;
    for (const element of [this.truncationNote, this.tabLink, this.lessonLink]) element.hidden = true;
  }

  // ---------------------------------------------------------------- content from tensors

  /** @param {import('./step-scene.js').StepScene} scene */
  draw(scene, options) {
    const { lesson, stepIndex, part, whole, chosenOption } = options;
    const { step, translation } = scene;
    const base = `lesson_${lesson.name}_${step.name}`;
    this.error.textContent = '';
    this.retryButton.hidden = true;
    this.previous.disabled = stepIndex === 0 && part === 0;
    this.next.disabled = stepIndex === lesson.steps.length - 1 && part >= step.parts.length - 1;
    const numbers = stepNumbers(scene);
    const values = { ...numbers, ...phraseValues(scene) };
    const question = makeQuestion(options.answeredScene ?? scene); // an answered question keeps its settings
    if (step.ask && !question) recordUnasked(base);
    const hidesAnswer = Boolean(question) && step.ask.hides_answer && chosenOption === undefined;
    this.base = base;
    this.setTitle(t(titleKey(base, scene.variants(), hidesAnswer)));
    this.drawWords(base, values, scene, hidesAnswer);
    this.drawTokens(scene, hidesAnswer);
    this.drawParts(base, step, part, hidesAnswer);
    this.drawControls(scene, hidesAnswer);
    this.drawFigure(scene, { whole, hides: hidesAnswer });
    this.drawFormulas(base, scene, { numbers, values, part, hides: hidesAnswer });
    this.tabLink.hidden = hidesAnswer || !step.tab;
    if (step.tab) this.tabLink.textContent = t('lesson_more', { tab: t(`tab_${step.tab}`) });
    this.tabLink.onclick = () => set({ tab: step.tab });
    this.lessonLink.hidden = hidesAnswer || !step.see;
    if (step.see) this.lessonLink.textContent = t(`${base}_see`);
    this.lessonLink.onclick = () => set({ lesson: step.see });
    this.question.draw(base, question, { ...options, asksPerSetting: step.ask?.ask_per_setting }, values);
    this.question.element.classList.toggle('first', hidesAnswer);
    replace(this.source, sourceBox(step.code, scene.variants(), trainsModels(scene)));
    const count = countTruncatedTokens(scene);
    this.truncationNote.hidden = !count || hidesAnswer;
    if (!this.truncationNote.hidden) {
      const button = make(
        'button',
        { type: 'button', class: 'link', onclick: () => this.callbacks.all() },
        t(whole ? 'lesson_show_some' : 'lesson_show_all'),
      );
      replace(this.truncationNote, whole ? '' : t('lesson_some_of', { count }), ' ', button);
    }
    this.element.lang = '';
    Object.assign(this.element.dataset, { step: step.name, of: translation.source_text });
  }

  drawWords(base, values, scene, hides) {
    const bold = (name) => make('b', {}, make('bdi', {}, values[name]));
    const boldValues = Object.fromEntries(BOLD_VALUES.map((name) => [name, bold(name)]));
    const words = fillElements(t(wordsKey(base, scene, hides), numbersOnly(values)), boldValues);
    replace(this.words, ...words, storedNote(scene));
  }

  drawTokens(scene, hides) {
    const { step } = scene;
    const name = step.picks.find((pick) => ['token', 'written'].includes(pick));
    this.tokens.hidden = !name;
    if (!name) return;
    const focused = this.tokens.contains(document.activeElement);
    const { source, target } = scene.translation.model;
    this.tokens.setAttribute('aria-label', t(`lesson_pick_${name}`));
    const hidesRow = hides && step.ask.options.includes('candidates'); // the row would reveal the answer
    const visible = hidesRow ? scene.rows.slice(0, scene.row + 1) : scene.rows;
    const buttons = visible.map((token, index) => {
      const attributes = {
        type: 'button',
        class: token.special ? 'special' : '',
        'aria-pressed': String(index === scene.row),
        lang: name === 'token' ? source : target,
      };
      return make(
        'button',
        { ...attributes, onclick: () => this.callbacks.pick({ [name]: index }) },
        make('bdi', {}, hidesRow && index === scene.row ? '?' : token.label),
      );
    });
    replace(this.tokens, make('span', { class: 'quiet' }, t(`lesson_pick_${name}`)), ...buttons);
    if (focused) this.tokens.querySelector('[aria-pressed=true]')?.focus({ preventScroll: true });
  }

  drawParts(base, step, part, hides) {
    this.parts.hidden = !step.parts.length || hides;
    if (this.parts.hidden) return;
    const focused = this.parts.contains(document.activeElement);
    const buttons = step.parts.map((name, index) => {
      const attributes = { type: 'button', 'aria-pressed': String(index === part), onclick: () => this.callbacks.part(index) };
      return make('button', attributes, `${index + 1} ${t(`${base}_part_${name}`)}`);
    });
    this.parts.setAttribute('aria-label', t('lesson_parts'));
    replace(this.parts, ...buttons);
    if (focused) this.parts.querySelector('[aria-pressed=true]')?.focus({ preventScroll: true });
  }

  drawControls({ step, look, result }, hides) {
    if (hides || !step.experiment) this.controls.hide();
    else this.controls.draw(step, look.set, result?.shown ?? {});
  }

  /** Draw the figures. Figures that reveal the answer are omitted until the visitor answers. */
  drawFigure(scene, { whole, hides }) {
    this.figure.classList.toggle('hides', hides);
    const trains = !hides && trainsModels(scene);
    this.element.classList.toggle('trains', trains);
    if (!trains) this.training.leave();
    if (hides) {
      replace(this.figure);
      return;
    }
    const width = Math.floor(this.figure.clientWidth) || 600;
    const figures = drawFigures({ scene, width, pick: this.callbacks.pick, all: whole, training: this.training });
    replace(this.figure, ...figures, drawProducts(scene, width));
  }

  drawFormulas(base, scene, { numbers, values, part, hides }) {
    if (hides) {
      replace(this.formulas);
      return;
    }
    const { step } = scene;
    const key = noteKey(base, scene);
    const note = key ? make('p', { class: 'quiet' }, t(key, values)) : null;
    const stepFormula = formulaFor(scene);
    const stepwise = step.parts.length > 1 && stepFormula.numbers.length === step.parts.length;
    const lines = stepwise ? [stepFormula.numbers[part]] : stepFormula.numbers;
    const caption = formulaCaption(step, scene, values);
    const general = make(
      'div',
      { class: 'general' },
      ...formulaLines(stepFormula.formula).map((line) => make('div', {}, formula(line, numbers))),
    );
    const filled = lines.map((line) => make('div', { class: 'filled numeric' }, formula(line, numbers)));
    replace(this.formulas, general, caption, ...filled, note);
    for (const line of [general, ...filled]) updateScrollable(line, 'Width');
  }
}

const trainsModels = ({ result }) => Boolean(result?.figures.some(({ form }) => form === 'trains'));

const numbersOnly = (values) => Object.fromEntries(Object.entries(values).filter(([name]) => !BOLD_VALUES.includes(name)));
