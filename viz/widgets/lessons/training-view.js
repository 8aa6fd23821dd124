// A training step: controls and loss on one side, translation and attention on the other. Snapshots may arrive faster than
// playback shows them; the slider selects one.

import { prefersReducedMotion, make, replace } from '../core/dom.js';
import { hasPhrase, t } from '../core/i18n.js';
import { LossCurve } from './loss-curve.js';
import { RunView } from './run-view.js';
import { TrainingRun, isRight } from './training-run.js';

const FRAME_MS = 150; // milliseconds per snapshot
const QUEUE_PHRASES = ['lesson_train_begins', 'lesson_train_waits_one']; // by the number of runs ahead in the queue

export class TrainingView {
  /** `calls`: server calls (training-run.js). */
  constructor(calls) {
    this.run = new TrainingRun(calls, () => this.onMessages());
    this.settings = []; // settings of the runs
    this.key = '';
    this.isVisible = false;
    this.snapshotIndex = 0; // index of the displayed snapshot
    this.timer = 0;
    this.look = { sentence: 0, layer: -1, head: -1 };
    this.curve = new LossCurve((step) => this.toStep(step));
    this.button = make('button', { type: 'button', class: 'go', onclick: () => this.press() });
    this.slider = make('input', { type: 'range', min: 0, step: 1 });
    this.slider.addEventListener('input', () => this.showSnapshot(Number(this.slider.value)));
    this.count = make('span', { class: 'count numeric' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.status = make('p', { class: 'quiet', role: 'status' });
    const row = make('div', { class: 'train-line' }, this.button, this.slider, this.count);
    this.side = make('div', { class: 'train-side' }, this.curve.element, row, this.error, this.status);
    this.sentences = make('div', { class: 'lesson-row-of-tokens', role: 'group' });
    this.views = [0, 1].map(() => new RunView((layer, head) => this.pick({ layer, head })));
    this.pairs = make('div', { class: 'runs' }, ...this.views.map(({ element }) => element));
    this.pickers = make('div', { class: 'train-shows', hidden: true }, this.sentences, this.pairs);
    addEventListener('pagehide', () => this.run.stop());
  }

  /** Show runs; clear the view if their settings have changed. Returns the element for the step's figures. */
  show({ runs, untrained: messages, sentence }) {
    const key = JSON.stringify(runs);
    if (key !== this.key) {
      this.stop();
      this.key = key;
      this.settings = runs;
      this.snapshotIndex = 0;
      this.look = { sentence, layer: -1, head: -1 };
      this.run.clear(messages);
    }
    this.isVisible = true;
    this.pickers.hidden = false;
    requestAnimationFrame(() => this.draw()); // after layout, which sets the width
    return this.side;
  }

  /** Hide the view and stop the run. */
  leave() {
    if (!this.isVisible) return;
    this.isVisible = false;
    this.pickers.hidden = true;
    this.stop();
  }

  get snapshotCount() {
    return Math.max(0, ...this.run.runs.map(({ snapshots }) => snapshots.length));
  }

  get plays() {
    return this.run.isRunning || this.timer !== 0;
  }

  press() {
    if (this.plays) {
      this.stop();
      this.draw();
      return;
    }
    this.snapshotIndex = 0;
    this.run.start({ runs: this.settings });
  }

  /** Stop playback, and the run on the server. */
  stop() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.run.stop();
  }

  // ---------------------------------------------------------------- frames

  onMessages() {
    if (this.run.isRunning && !this.timer) this.play();
    this.draw();
  }

  play() {
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      const last = this.snapshotCount - 1;
      if (this.snapshotIndex < last) this.snapshotIndex = prefersReducedMotion() && !this.run.isRunning ? last : this.snapshotIndex + 1;
      if (this.run.isRunning || this.snapshotIndex < last) this.play();
      this.draw();
    }, FRAME_MS);
  }

  showSnapshot(index) {
    if (this.timer && !this.run.isRunning) {
      clearTimeout(this.timer); // the visitor controls playback; the run continues
      this.timer = 0;
    }
    this.snapshotIndex = index;
    this.draw();
  }

  /** Show the snapshot nearest to a step. */
  toStep(step) {
    const { snapshots } = this.run.runs[0] ?? { snapshots: [] };
    if (!snapshots.length) return;
    const distance = (index) => Math.abs(snapshots[index].step - step);
    this.showSnapshot([...snapshots.keys()].reduce((best, index) => (distance(index) < distance(best) ? index : best), 0));
  }

  pick(changes) {
    this.look = { ...this.look, ...changes };
    this.draw();
  }

  nextSentence(step) {
    const count = this.run.runs[0]?.beginning.sources.length ?? 1;
    this.pick({ sentence: (this.look.sentence + step + count) % count });
  }

  nextHead(step) {
    const [first] = this.run.runs;
    if (!first) return;
    const { layers, heads } = first.beginning.run;
    const { layer, head } = this.selectedHead(first.beginning.run);
    const next = (layer * heads + head + step + layers * heads) % (layers * heads);
    this.pick({ layer: Math.floor(next / heads), head: next % heads });
  }

  /** The selected head; by default the last head of the last layer. */
  selectedHead({ layers, heads }) {
    const { layer, head } = this.look;
    return { layer: layer < 0 ? layers - 1 : Math.min(layer, layers - 1), head: head < 0 ? heads - 1 : Math.min(head, heads - 1) };
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    const { runs } = this.run;
    this.button.textContent = t(this.plays ? 'lesson_train_stop' : this.run.phase === 'over' ? 'lesson_train_again' : 'lesson_train_start');
    this.error.textContent = this.run.error;
    this.status.textContent = this.statusText();
    this.side.dataset.phase = this.plays ? 'runs' : this.run.phase;
    const last = Math.max(0, this.snapshotCount - 1);
    this.snapshotIndex = Math.min(this.snapshotIndex, last);
    const currentStep = runs[0]?.snapshots[Math.min(this.snapshotIndex, runs[0].snapshots.length - 1)]?.step ?? 0;
    Object.assign(this.slider, { max: Math.max(1, last), value: this.snapshotIndex, disabled: last === 0 });
    this.slider.style.setProperty('--share', `${last ? (100 * this.snapshotIndex) / last : 0}%`);
    this.slider.setAttribute('aria-label', t('lesson_train_moment'));
    this.count.textContent = t('lesson_train_step', { step: currentStep });
    this.slider.setAttribute('aria-valuetext', this.count.textContent);
    this.curve.element.hidden = this.sentences.hidden = this.pairs.hidden = !runs.length;
    if (!runs.length) return;
    const names = runs.length > 1 ? runs.map(({ beginning }) => runName(beginning.run, runs)) : [''];
    this.curve.draw({ runs, names, step: currentStep });
    this.drawSentences(runs[0].beginning);
    const { layer, head } = this.selectedHead(runs[0].beginning.run);
    const availableWidth = this.pairs.clientWidth || 600;
    const width = Math.min(430, runs.length > 1 && availableWidth > 620 ? (availableWidth - 32) / 2 : availableWidth);
    for (const [number, view] of this.views.entries()) {
      view.element.hidden = number >= runs.length;
      if (number >= runs.length) continue;
      view.draw({
        run: runs[number],
        name: names[number],
        snapshotIndex: this.snapshotIndex,
        sentence: this.look.sentence,
        layer,
        head,
        width,
      });
    }
    this.pairs.classList.toggle('two', runs.length > 1);
  }

  drawSentences({ sources, unseen }) {
    const key = JSON.stringify([sources, this.look.sentence, t('lesson_train_sentence')]);
    if (key === this.sentencesDrawn) return;
    this.sentencesDrawn = key;
    const focused = this.sentences.contains(document.activeElement);
    const buttons = sources.map((tokens, index) => {
      const text = tokens.slice(0, -1).join('').trim();
      const attributes = {
        type: 'button',
        'aria-pressed': String(index === this.look.sentence),
        onclick: () => this.pick({ sentence: index }),
      };
      const unseenNote = unseen[index] ? make('span', { class: 'quiet' }, ` ${t('lesson_train_unseen')}`) : null;
      return make('button', { ...attributes, lang: 'de' }, make('bdi', {}, text), unseenNote);
    });
    this.sentences.setAttribute('aria-label', t('lesson_train_sentence'));
    replace(this.sentences, make('span', { class: 'quiet' }, t('lesson_train_sentence')), ...buttons);
    if (focused) this.sentences.querySelector('[aria-pressed=true]')?.focus({ preventScroll: true });
  }

  /** Status of the run in one sentence. */
  statusText() {
    const { phase, before, full, runs } = this.run;
    if (phase === 'waiting') return full || t(QUEUE_PHRASES[before] ?? 'lesson_train_waits', { count: before });
    if (!runs.length) return t('lesson_train_untried');
    const { parameters } = runs[0].beginning;
    const sizes = t('lesson_train_sizes', { count: parameters.toLocaleString('en'), steps: runs[0].beginning.snapshot_steps.at(-1) });
    if (phase === 'idle') return `${sizes} ${t('lesson_train_kept')}`;
    if (this.plays || runs.length > 1) return sizes;
    const step = rightSince(runs[0]);
    return step === null ? sizes : `${sizes} ${t('lesson_train_right_since', { step })}`;
  }
}

/** Name of a run: the field in which two runs differ. */
function runName(ownRun, runs) {
  const [first, second] = runs.map(({ beginning }) => beginning.run);
  const field = Object.keys(first).find((name) => first[name] !== second[name]);
  if (!field) return '';
  const key = `lesson_train_${ownRun[field] ? 'with' : 'without'}_${field}`;
  const specificKey = `${key}_${first[field] || second[field]}`; // some mistakes have a specific phrase
  return t(hasPhrase(specificKey) ? specificKey : key);
}

/** First step from which all training sentences are correct, or null. */
function rightSince({ beginning, snapshots }) {
  const allRight = ({ shown }) => shown.every(({ written }, index) => beginning.unseen[index] || isRight(beginning, index, written));
  let firstStep = null;
  for (const snapshot of snapshots) {
    if (!allRight(snapshot)) firstStep = null;
    else firstStep ??= snapshot.step;
  }
  return firstStep;
}
