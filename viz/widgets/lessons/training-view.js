// A training step: settings and loss on one side, translation and attention on the other. Moments are played as
// fast as an eye can follow, though they may come faster; any of them can be looked at again.

import { prefersReducedMotion, make, replace } from '../core/dom.js';
import { hasPhrase, t } from '../core/i18n.js';
import { LossCurve } from './loss-curve.js';
import { RunView } from './run-view.js';
import { TrainingRun, isRight } from './training-run.js';

const FRAME = 150; // milliseconds of each moment
const QUEUE_PHRASES = ['lesson_train_begins', 'lesson_train_waits_one']; // by how many runs are before one

export class TrainingView {
  /** `asks`: server calls (training-run.js). */
  constructor(asks) {
    this.run = new TrainingRun(asks, () => this.onMessages());
    this.asked = []; // the runs
    this.key = '';
    this.shown = false;
    this.place = 0; // of the moment that is shown
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
    this.shows = make('div', { class: 'train-shows', hidden: true }, this.sentences, this.pairs);
    addEventListener('pagehide', () => this.run.stop());
  }

  /** A picture of runs is shown: other settings have other runs. Gives what stands among the step's pictures. */
  show({ runs, kept, sentence }) {
    const key = JSON.stringify(runs);
    if (key !== this.key) {
      this.stop();
      this.key = key;
      this.asked = runs;
      this.place = 0;
      this.look = { sentence, layer: -1, head: -1 };
      this.run.clear(kept);
    }
    this.shown = true;
    this.shows.hidden = false;
    requestAnimationFrame(() => this.draw()); // once it has its width
    return this.side;
  }

  /** The view is hidden: stop the run. */
  leave() {
    if (!this.shown) return;
    this.shown = false;
    this.shows.hidden = true;
    this.stop();
  }

  get moments() {
    return Math.max(0, ...this.run.runs.map(({ moments }) => moments.length));
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
    this.place = 0;
    this.run.begin({ runs: this.asked });
  }

  /** The run ends, here and on the server. */
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
      const last = this.moments - 1;
      if (this.place < last) this.place = prefersReducedMotion() && !this.run.isRunning ? last : this.place + 1;
      if (this.run.isRunning || this.place < last) this.play();
      this.draw();
    }, FRAME);
  }

  showSnapshot(place) {
    if (this.timer && !this.run.isRunning) {
      clearTimeout(this.timer); // by hand from here on; a run that still goes goes on
      this.timer = 0;
    }
    this.place = place;
    this.draw();
  }

  /** The moment nearest to a step. */
  toStep(step) {
    const { moments } = this.run.runs[0] ?? { moments: [] };
    if (!moments.length) return;
    const far = (place) => Math.abs(moments[place].step - step);
    this.showSnapshot([...moments.keys()].reduce((best, place) => (far(place) < far(best) ? place : best), 0));
  }

  pick(changes) {
    this.look = { ...this.look, ...changes };
    this.draw();
  }

  nextSentence(by) {
    const count = this.run.runs[0]?.beginning.sources.length ?? 1;
    this.pick({ sentence: (this.look.sentence + by + count) % count });
  }

  nextHead(by) {
    const [first] = this.run.runs;
    if (!first) return;
    const { layers, heads } = first.beginning.run;
    const { layer, head } = this.chosen(first.beginning.run);
    const next = (layer * heads + head + by + layers * heads) % (layers * heads);
    this.pick({ layer: Math.floor(next / heads), head: next % heads });
  }

  /** The last head of the last layer, until another one is chosen. */
  chosen({ layers, heads }) {
    const { layer, head } = this.look;
    return { layer: layer < 0 ? layers - 1 : Math.min(layer, layers - 1), head: head < 0 ? heads - 1 : Math.min(head, heads - 1) };
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    const { runs } = this.run;
    this.button.textContent = t(this.plays ? 'lesson_train_stop' : this.run.phase === 'over' ? 'lesson_train_again' : 'lesson_train_start');
    this.error.textContent = this.run.error;
    this.status.textContent = this.said();
    this.side.dataset.phase = this.plays ? 'runs' : this.run.phase;
    const last = Math.max(0, this.moments - 1);
    this.place = Math.min(this.place, last);
    const step = runs[0]?.moments[Math.min(this.place, runs[0].moments.length - 1)]?.step ?? 0;
    Object.assign(this.slider, { max: Math.max(1, last), value: this.place, disabled: last === 0 });
    this.slider.style.setProperty('--share', `${last ? (100 * this.place) / last : 0}%`);
    this.slider.setAttribute('aria-label', t('lesson_train_moment'));
    this.count.textContent = t('lesson_train_step', { step });
    this.slider.setAttribute('aria-valuetext', this.count.textContent);
    this.curve.element.hidden = this.sentences.hidden = this.pairs.hidden = !runs.length;
    if (!runs.length) return;
    const names = runs.length > 1 ? runs.map(({ beginning }) => nameOf(beginning.run, runs)) : [''];
    this.curve.draw({ runs, names, step });
    this.drawSentences(runs[0].beginning);
    const { layer, head } = this.chosen(runs[0].beginning.run);
    const room = this.pairs.clientWidth || 600;
    const width = Math.min(430, runs.length > 1 && room > 620 ? (room - 32) / 2 : room);
    for (const [number, view] of this.views.entries()) {
      view.element.hidden = number >= runs.length;
      if (number >= runs.length) continue;
      view.draw({ run: runs[number], name: names[number], place: this.place, sentence: this.look.sentence, layer, head, width });
    }
    this.pairs.classList.toggle('two', runs.length > 1);
  }

  drawSentences({ sources, unseen }) {
    const key = JSON.stringify([sources, this.look.sentence, t('lesson_train_sentence')]);
    if (key === this.sentencesDrawn) return;
    this.sentencesDrawn = key;
    const focused = this.sentences.contains(document.activeElement);
    const buttons = sources.map((tokens, place) => {
      const text = tokens.slice(0, -1).join('').trim();
      const about = { type: 'button', 'aria-pressed': String(place === this.look.sentence), onclick: () => this.pick({ sentence: place }) };
      const never = unseen[place] ? make('span', { class: 'quiet' }, ` ${t('lesson_train_unseen')}`) : null;
      return make('button', { ...about, lang: 'de' }, make('bdi', {}, text), never);
    });
    this.sentences.setAttribute('aria-label', t('lesson_train_sentence'));
    replace(this.sentences, make('span', { class: 'quiet' }, t('lesson_train_sentence')), ...buttons);
    if (focused) this.sentences.querySelector('[aria-pressed=true]')?.focus({ preventScroll: true });
  }

  /** One sentence on how it goes. */
  said() {
    const { phase, before, full, runs } = this.run;
    if (phase === 'waiting') return full || t(QUEUE_PHRASES[before] ?? 'lesson_train_waits', { count: before });
    if (!runs.length) return t('lesson_train_untried');
    const { parameters } = runs[0].beginning;
    const sizes = t('lesson_train_sizes', { count: parameters.toLocaleString('en'), steps: runs[0].beginning.snapshot_steps.at(-1) });
    if (phase === 'idle') return `${sizes} ${t('lesson_train_kept')}`;
    if (this.plays || runs.length > 1) return sizes;
    const since = rightSince(runs[0]);
    return since === null ? sizes : `${sizes} ${t('lesson_train_right_since', { step: since })}`;
  }
}

/** What sets two runs apart, of one of them. */
function nameOf(own, runs) {
  const [one, other] = runs.map(({ beginning }) => beginning.run);
  const differs = Object.keys(one).find((name) => one[name] !== other[name]);
  if (!differs) return '';
  const key = `lesson_train_${own[differs] ? 'with' : 'without'}_${differs}`;
  const named = `${key}_${one[differs] || other[differs]}`; // some mistakes go by their name
  return t(hasPhrase(named) ? named : key);
}

/** First step from which all training sentences are correct, or null. */
function rightSince({ beginning, moments }) {
  const allRight = ({ shown }) => shown.every(({ written }, place) => beginning.unseen[place] || isRight(beginning, place, written));
  let since = null;
  for (const moment of moments) {
    if (!allRight(moment)) since = null;
    else since ??= moment.step;
  }
  return since;
}
