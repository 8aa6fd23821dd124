// "Live": while the sentence is typed, a greedy translation of what stands there follows each pause of the fingers. Enter
// makes the whole answer. Under load it asks less often, and says so.

import { make } from '../core/dom.js';
import { set, state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { Pace } from './pace.js';

const DEBOUNCE_MS = 120; // milliseconds after the last keystroke
const SLOW_ANSWER_MS = 1000; // milliseconds until an answer from which on the next one is asked for less soon
const BACK_OFF_MS = 500;
const MAX_BACK_OFF_MS = 4000; // maximum back-off in milliseconds
const TIMEOUT_MS = 8000; // milliseconds without an answer after which the question is given up
const MAX_SKIPPED = 3; // questions in a row without an answer, after which one is waited for
const CLICK_MS = 350; // milliseconds that a click takes
const KEY = 'headlight-live';
/** @type {Record<string, string>} */
const RETRY_PHRASES = { cluster_gone: 'live_away', cluster_busy: 'live_busy' }; // faults that are no sentence's: what is said of them

/** What the visitor chose once: 'on', 'off', or nothing. A browser that keeps nothing tells nothing. */
function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function remember(choice) {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // It counts for this visit.
  }
}

const savesData = () =>
  Boolean(/** @type {any} */ (navigator).connection?.saveData) || matchMedia('(prefers-reduced-data: reduce)').matches;

export class Live {
  /** `ask()` sends the sentence as it stands; `drop()`: nothing comes of that; `refuse()`: it cannot be sent. `model()`: the name of the chosen one. `pending()`: the sentence whose whole answer is on its way. */
  constructor(field, { ask, drop, refuse, model, pending }) {
    this.pending = pending;
    this.refuse = refuse;
    this.field = field;
    this.ask = ask;
    this.drop = drop;
    this.model = model;
    this.choice = remembered();
    this.composing = false; // an input method has not made up its mind
    this.waits = null; // the timer of the next look
    this.asked = null; // {text, at}: the question that is not answered yet
    this.missed = false; // the sentence has changed since, and waits for the answer
    this.skipped = 0;
    this.vain = null; // the last sentence that no answer came for
    this.pause = DEBOUNCE_MS;
    this.word = ''; // the phrase that is said
    this.pace = new Pace(() => this.goOn());
    this.box = make('input', { type: 'checkbox', role: 'switch', 'aria-describedby': 'live-says' });
    this.label = make('span', {});
    this.element = make('label', { class: 'live' }, this.box, make('i', { 'aria-hidden': 'true' }), this.label);
    this.says = make('span', { class: 'quiet live-says', id: 'live-says', role: 'status' });
    this.box.addEventListener('change', () => this.choose(this.box.checked));
    const { element } = field;
    element.addEventListener('compositionstart', () => this.onComposition(true));
    element.addEventListener('compositionend', () => this.onComposition(false));
    element.addEventListener('input', () => this.onInput());
    element.addEventListener('focus', () => clearTimeout(this.rests));
    element.addEventListener('blur', () => this.scheduleRelease());
  }

  // ---------------------------------------------------------------- on or off

  get on() {
    if (this.choice) return this.choice === 'on';
    return !savesData() && !this.pace.isResting(this.model());
  }

  choose(on) {
    this.choice = on ? 'on' : 'off';
    remember(this.choice);
    this.pause = DEBOUNCE_MS;
    this.word = '';
    if (on) this.maybeSend();
    else this.end();
    this.draw();
  }

  /** A model's own time for an answer: of a beam it is at least this for one hypothesis. */
  recordModelTime(translation) {
    if (translation.cached || !translation.seconds) return;
    this.pace.measure(translation.model.name, translation.seconds / translation.request.options.beam_size);
    this.draw();
  }

  // ---------------------------------------------------------------- asking

  /** A keystroke: the sentence is asked for once the fingers rest. */
  onInput() {
    if (!this.on) return;
    set({ still: true });
    this.soon();
  }

  /** Ask, unless there is nothing to ask for, or an answer is waited for first. */
  maybeSend() {
    const { text } = this.field;
    this.waits = null;
    if (!this.on || this.field.validationError()) {
      this.cancel();
      if (this.on) this.refuse();
      return;
    }
    if (text === (this.asked ? this.asked.text : this.shown())) return;
    this.missed = Boolean(this.asked) && (this.pause > DEBOUNCE_MS || this.skipped >= MAX_SKIPPED);
    if (this.missed) return;
    this.skipped = this.asked ? this.skipped + 1 : 0;
    this.asked = { text, at: performance.now() };
    clearTimeout(this.givesUp);
    this.givesUp = setTimeout(() => this.onTimeout(text), TIMEOUT_MS);
    this.ask();
  }

  /** The sentence whose translation stands there, or comes without us, if the chosen model makes it. */
  shown() {
    if (this.pending() !== null) return this.pending();
    const { translation } = state;
    return translation?.model.name === this.model() ? translation.request.text : null;
  }

  /** Nothing more is asked, and what was asked is of no interest. */
  cancel() {
    const waited = this.asked;
    this.onReplaced();
    if (waited) this.drop();
  }

  /** Another request takes the place of ours. */
  onReplaced() {
    clearTimeout(this.waits);
    this.waits = null;
    clearTimeout(this.givesUp);
    this.asked = null;
    this.missed = false;
    this.skipped = 0;
  }

  /** Live is off: nothing holds still for what might come. */
  end() {
    this.cancel();
    this.releaseLayout();
  }

  /** The field lost focus: release the layout after a pending click. */
  scheduleRelease() {
    clearTimeout(this.rests);
    this.rests = setTimeout(() => this.releaseLayout(), CLICK_MS);
  }

  releaseLayout() {
    clearTimeout(this.rests);
    set({ still: false });
  }

  // ---------------------------------------------------------------- hearing

  /** Handle a live message. Errors are not shown, because a half-typed sentence is not an error. */
  onMessage(message) {
    const word = message.what === 'busy' ? 'live_busy' : RETRY_PHRASES[message.word];
    if (word) this.backOff(word);
    else if (message.what === 'error') this.onSettled();
  }

  /** The answer is shown. */
  onAnswerShown(translation) {
    const took = this.asked ? performance.now() - this.asked.at : 0;
    if (took > SLOW_ANSWER_MS) this.wait(Math.max(this.pause, BACK_OFF_MS));
    else this.wait(this.pause > 2 * DEBOUNCE_MS && this.word !== 'live_away' ? this.pause / 2 : DEBOUNCE_MS);
    this.onSettled();
    this.recordModelTime(translation);
  }

  /** A rest is over: what was typed meanwhile is asked for, where it is still being typed. */
  goOn() {
    this.draw();
    const { element, text } = this.field;
    if (document.activeElement === element && text !== this.shown()) this.onInput();
  }

  /** Nothing more comes of the last question; a sentence that waited for that is looked at. */
  onSettled() {
    const { missed } = this;
    clearTimeout(this.givesUp);
    this.asked = null;
    this.missed = false;
    this.skipped = 0;
    if (missed && this.waits === null) this.soon();
  }

  /** Timeout: retry once per sentence. */
  onTimeout(text) {
    this.missed ||= text !== this.vain;
    this.vain = text;
    this.onSettled();
  }

  /** The server is busy or the cluster unreachable: retry later. */
  backOff(word) {
    this.wait(Math.min(MAX_BACK_OFF_MS, Math.max(BACK_OFF_MS, 2 * this.pause)), word);
    this.onReplaced();
    this.soon();
  }

  onComposition(begins) {
    this.composing = begins;
    this.onInput();
  }

  /**
   * Look once nothing was typed for a while; what an input method still composes is not yet the sentence. While it
   * backs off, a look that is due stays due: the pause is then longer than one between two keystrokes, and steady
   * typing would put the look off for ever.
   */
  soon() {
    const due = this.waits !== null && this.pause > DEBOUNCE_MS;
    if (due && !this.composing) return;
    clearTimeout(this.waits);
    this.waits = this.composing ? null : setTimeout(() => this.maybeSend(), this.pause);
  }

  wait(pause, word = 'live_busy') {
    this.pause = pause;
    this.word = pause > DEBOUNCE_MS ? word : '';
    this.draw();
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    this.box.checked = this.on;
    this.label.textContent = t('live');
    this.element.title = t('live_says');
    const rests = !this.choice && !savesData() && this.pace.isResting(this.model());
    const word = rests ? 'live_slow' : this.on ? this.word : '';
    const says = word ? t(word) : '';
    if (this.says.textContent !== says) this.says.textContent = says;
  }
}
