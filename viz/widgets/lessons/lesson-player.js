// The Learn tab: the list of lessons, or one lesson at a step.

import { make, onWidthChange } from '../core/dom.js';
import { parsePermalink } from '../core/permalink.js';
import { on, set, state } from '../core/state.js';
import { faultText, t } from '../core/i18n.js';
import { hideTooltip } from '../parts/tooltip.js';
import { Answers } from './answers.js';
import { lessonCalls } from './server-calls.js';
import { parseLessonLink, resolveSelection, formatLessonLink } from './lesson-link.js';
import { ExperimentCache } from './experiment-cache.js';
import { handleKey } from './keyboard.js';
import { ClassKit } from './class-kit.js';
import { LessonList } from './lesson-list.js';
import { setLessonStatus } from './progress.js';
import { StepOrder } from './step-order.js';
import { StepScene } from './step-scene.js';
import { formatValue, resolveValues } from './control-values.js';
import { StepView } from './step-view.js';
import { TensorCache } from './tensor-cache.js';

const DEBOUNCE_MS = 120; // milliseconds between the last change of a control and the request
const PLAY_MS = { step: 4200, part: 1800, word: 1200 }; // milliseconds during playback

/** `pages`: modules of lessons with separate pages (build, quiz). @param {import('../core/server.js').Server} server */
export async function mount(root, server, pages) {
  const { lessons, tensors, experiments, ...asks } = await lessonCalls(root, server);
  const calls = { tensors: new TensorCache(tensors), experiments: new ExperimentCache(experiments), ...asks };
  new LessonPlayer(root, lessons, calls, pages);
}

class LessonPlayer {
  constructor(root, lessons, { tensors, experiments, training, notebook, ...pageCalls }, pages) {
    this.root = root;
    this.lessons = lessons;
    this.tensors = tensors;
    this.experiments = experiments;
    this.answers = new Answers();
    this.order = new StepOrder();
    this.showsAllTokens = false; // show all tokens of a long sentence
    this.timer = 0;
    this.generation = 0; // incremented to discard responses of older requests
    this.list = new LessonList((name) => this.go({ lesson: name, step: '', part: 0, selection: {} }), pages);
    const callbacks = {
      back: () => this.leave(),
      step: (index) => this.toStep(index),
      move: (step) => this.move(step),
      play: () => this.play(),
      pick: (changes) => this.pick(changes),
      set: (control, value) => this.set(control, value),
      part: (part) => this.go({ ...this.choice, part }),
      answer: (choice) => this.onAnswer(choice),
      again: () => this.show(),
      all: () => {
        this.showsAllTokens = !this.showsAllTokens;
        this.show();
      },
    };
    this.view = new StepView(callbacks, training);
    this.kit = new ClassKit(notebook);
    this.view.element.append(this.kit.element);
    this.pages = new Map(pages.map(({ NAME, mount }) => [NAME, mount(this, pageCalls[NAME])]));
    this.notice = make('p', { class: 'quiet' });
    root.append(this.notice, this.list.element, this.view.element, ...[...this.pages.values()].map(({ element }) => element));
    on(['tab', 'lesson', 'translation', 'language', 'theme'], () => this.show());
    on(['busy'], () => root.classList.toggle('busy', state.busy));
    document.addEventListener('keydown', (event) => handleKey(event, this));
    addEventListener('headlight-link', () => parseLessonLink(parsePermalink().lesson ?? '').asks && this.answers.clear());
    onWidthChange(() => this.show());
    this.show();
  }

  // ---------------------------------------------------------------- current position

  get choice() {
    return parseLessonLink(state.lesson);
  }

  get lesson() {
    const lesson = this.lessons.find(({ name }) => name === this.choice.lesson);
    if (!lesson) return null;
    return { ...lesson, steps: this.order.steps(lesson, state.translation) };
  }

  get stepIndex() {
    return Math.max(
      0,
      this.lesson.steps.findIndex(({ name }) => name === this.choice.step),
    );
  }

  go(choice) {
    set({ lesson: formatLessonLink(choice) });
  }

  leave() {
    this.stop();
    set({ lesson: '' });
  }

  toStep(index) {
    this.stop();
    this.enter(index);
  }

  /** Opens a step at one of its parts, without stopping playback. */
  enter(position, part = 0) {
    const { steps, name } = this.lesson;
    const index = Math.max(0, Math.min(steps.length - 1, position));
    this.go({ ...this.choice, lesson: name, step: steps[index].name, part });
  }

  /** Move to the next or previous step, or part of a step. */
  move(step, byVisitor = true) {
    if (byVisitor) this.stop();
    const { steps } = this.lesson;
    const { stepIndex } = this;
    const partCount = Math.max(1, steps[stepIndex].parts.length);
    const part = this.choice.part + step;
    if (part >= 0 && part < partCount) this.go({ ...this.choice, step: steps[stepIndex].name, part });
    else if (stepIndex + step >= 0 && stepIndex + step < steps.length)
      this.enter(stepIndex + step, step < 0 ? Math.max(0, steps[stepIndex + step].parts.length - 1) : 0);
  }

  pick(changes) {
    const { choice } = this;
    this.go({ ...choice, step: this.lesson.steps[this.stepIndex].name, selection: { ...choice.selection, ...changes } });
  }

  /** Set a control of the step's experiment. The permalink omits defaults. */
  set(control, value) {
    const { [control.name]: _, ...otherValues } = this.choice.selection.set ?? {};
    const text = formatValue(control, value);
    this.pick({ set: text === undefined ? otherValues : { ...otherValues, [control.name]: text } });
  }

  onAnswer(choice) {
    this.answers.record(this.question(), choice, this.scene);
    this.show();
  }

  /** Key of the current question. It includes the sentence and the selected word. */
  question() {
    const { translation } = state;
    const { kind, name, ask } = this.lesson.steps[this.stepIndex];
    const look = resolveSelection(translation, this.choice.selection);
    return JSON.stringify([
      this.lesson.name,
      name,
      translation.source_text,
      translation.text,
      kind === 'encoder' ? look.token : look.written,
      ask?.ask_per_setting ? look.set : null,
    ]);
  }

  // ---------------------------------------------------------------- playback

  play() {
    if (this.timer) this.stop();
    else this.scheduleNext();
    this.show();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** Pause playback and training while the tab is hidden. */
  pauseHidden() {
    this.stop();
    this.view.training.leave();
  }

  scheduleNext() {
    const { steps } = this.lesson;
    const step = steps[this.stepIndex];
    const isLast = this.stepIndex === steps.length - 1;
    const hasMoreParts = this.choice.part < step.parts.length - 1;
    this.timer = window.setTimeout(() => this.next(isLast), hasMoreParts ? PLAY_MS.part : isLast ? PLAY_MS.word : PLAY_MS.step);
  }

  /** Advance playback to the next step or, at the last step, to the next word. */
  next(last) {
    this.timer = 0;
    if (!this.isOpen()) return;
    const { written } = resolveSelection(state.translation, this.choice.selection);
    const picksWritten = this.lesson.steps[this.stepIndex].picks.includes('written');
    if (last && (!picksWritten || written === state.translation.target.length - 1)) return this.show();
    if (last) this.pick({ written: written + 1 });
    else this.move(1, false);
    this.scheduleNext(); // the duration depends on the new step
    this.show();
  }

  // ---------------------------------------------------------------- drawing

  isOpen() {
    return state.tab === 'learn' && Boolean(state.translation) && Boolean(this.lesson);
  }

  async show() {
    hideTooltip();
    if (state.tab !== 'learn') return this.pauseHidden();
    const { translation } = state;
    const { lesson } = this;
    const page = this.pages.get(this.choice.lesson); // a page needs no translation
    for (const otherPage of this.pages.values()) otherPage.element.hidden = otherPage !== page;
    this.notice.textContent = translation || page ? '' : t('lesson_no_sentence');
    this.list.element.hidden = Boolean(lesson) || Boolean(page) || !translation;
    this.view.element.hidden = !lesson || !translation;
    page?.show(this.choice.step);
    const generation = ++this.generation; // cancels the drawing of a lesson that is still loading
    if (page) this.pauseHidden();
    if (!translation || page) return;
    if (!lesson) {
      this.pauseHidden();
      this.drawList(generation);
      return;
    }
    const { stepIndex } = this;
    setLessonStatus(lesson.name, stepIndex === lesson.steps.length - 1 ? 'done' : 'begun');
    const look = resolveSelection(translation, this.choice.selection);
    const part = Math.min(this.choice.part, Math.max(0, lesson.steps[stepIndex].parts.length - 1));
    const sceneAt = (index) => this.getScene(lesson, index, look, index === stepIndex ? part : 0);
    const [playing, normFirst] = [Boolean(this.timer), this.order.isNormFirst(translation)];
    const question = { asks: this.choice.asks, ...this.answers.get(this.question()) };
    const options = { lesson, stepIndex, part, look, playing, normFirst, whole: this.showsAllTokens, ...question };
    this.view.frame(options, translation);
    this.kit.draw(lesson, { ...this.choice, step: lesson.steps[stepIndex].name, part });
    const { experiment, name } = lesson.steps[stepIndex];
    const set = experiment && resolveValues(experiment.controls, look.set);
    const neededTensors = sceneAt(stepIndex).requiredPaths();
    // The model's sizes come with tensors or an experiment. A step without both loads the tensors of another step.
    const names =
      neededTensors.length || experiment
        ? neededTensors
        : sceneAt(lesson.steps.findIndex(({ figures }) => figures[0]?.tensors.length)).requiredPaths();
    const cached = this.tensors.get(translation);
    if ((names.length && !cached.has(names)) || (experiment && !sceneAt(stepIndex).result)) {
      this.view.setBusy(true, `lesson_${lesson.name}_${name}`);
      try {
        if (experiment && this.view.isSetting()) await new Promise((resolve) => setTimeout(resolve, DEBOUNCE_MS));
        if (generation !== this.generation) return;
        if (names.length) await this.tensors.load(translation, names);
        if (this.order.storeModel(translation, cached.model)) return this.show();
        await this.tensors.load(translation, sceneAt(stepIndex).requiredPaths()); // products need the model's sizes
        if (experiment && !(await this.experiments.fetch(translation, lesson.name, name, set))) return;
      } catch (error) {
        if (generation !== this.generation) return;
        this.view.setBusy(false);
        return this.view.showError(faultText(error), sceneAt(stepIndex));
      }
      if (generation !== this.generation) return;
    }
    this.view.setBusy(false);
    this.scene = sceneAt(stepIndex);
    this.view.draw(this.scene, options);
    if (stepIndex + 1 < lesson.steps.length) this.prefetch(sceneAt(stepIndex + 1));
  }

  /** Scene of a step with the tensors that are loaded. */
  getScene(lesson, stepIndex, look, part) {
    const { translation } = state;
    const step = { ...lesson.steps[stepIndex], lesson: lesson.name };
    const { experiment, name } = step;
    const result = experiment ? this.experiments.find(translation, lesson.name, name, resolveValues(experiment.controls, look.set)) : null;
    return new StepScene(step, translation, look, this.tensors.get(translation), part, result);
  }

  /** Load the tensors of the next step. A failed request is retried when the step is shown. */
  prefetch(scene) {
    const names = scene.requiredPaths();
    if (names.length && !scene.sentenceTensors.has(names)) this.tensors.load(scene.translation, names).catch(() => {});
  }

  async drawList(generation) {
    const { translation } = state;
    const look = resolveSelection(translation, {});
    const getScene = (lesson) =>
      new StepScene(
        { ...lesson.steps[0], kind: 'encoder', figures: [{ tensors: lesson.picture }], products: [], picks: [] },
        translation,
        look,
        this.tensors.get(translation),
      );
    const drawPicture = (lesson) =>
      this.tensors.get(translation).has(getScene(lesson).requiredPaths()) ? getScene(lesson).matrix(lesson.picture[0]) : null;
    this.list.draw(this.lessons, drawPicture);
    const names = [...new Set(this.lessons.flatMap((lesson) => getScene(lesson).requiredPaths()))];
    if (this.tensors.get(translation).has(names)) return;
    try {
      await this.tensors.load(translation, names);
      if (generation === this.generation && !this.lesson) this.list.draw(this.lessons, drawPicture);
    } catch (error) {
      if (!error.fault) console.warn(error); // the list works without pictures
    }
  }
}
