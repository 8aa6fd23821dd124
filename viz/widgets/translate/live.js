// "Live": translates greedily after each pause in typing, and with all options once typing rests or on Enter. Under load
// it sends fewer requests and shows a note.

import { make } from '../core/dom.js';
import { set, state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { Pace } from './pace.js';

const DEBOUNCE_MS = 120; // milliseconds after the last keystroke
const REST_MS = 1500; // milliseconds after an answer until the same sentence is translated with all options
const SLOW_ANSWER_MS = 1000; // answers slower than this increase the pause
const BACK_OFF_MS = 500;
const MAX_BACK_OFF_MS = 4000;
const TIMEOUT_MS = 8000; // milliseconds until a pending request is abandoned
const MAX_SKIPPED = 3; // maximum number of consecutive requests that are replaced before their answer
const CLICK_MS = 350; // duration of a click in milliseconds
const KEY = 'headlight-live';
/** @type {Record<string, string>} */
const RETRY_PHRASES = { cluster_gone: 'live_away', cluster_busy: 'live_busy' }; // notes for server errors, which no edit of the sentence can fix

/** The visitor's stored setting, 'on' or 'off'; null if there is none or storage is blocked. */
function loadSetting() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function saveSetting(choice) {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // Storage is blocked: the setting lasts for this visit.
  }
}

const savesData = () =>
  Boolean(/** @type {any} */ (navigator).connection?.saveData) || matchMedia('(prefers-reduced-data: reduce)').matches;

export class Live {
  /**
   * `send({ full })` sends the current sentence, greedily unless `full`; `cancelRequest()` cancels that request;
   * `onInvalid()` is called for an invalid sentence. `model()` is the selected model's name, `pending()` the sentence of a pending full request.
   */
  constructor(field, { send, cancelRequest, onInvalid, model, pending }) {
    this.pending = pending;
    this.onInvalid = onInvalid;
    this.field = field;
    this.send = send;
    this.cancelRequest = cancelRequest;
    this.model = model;
    this.choice = loadSetting();
    this.composing = false; // an input method is composing
    /** @type {Timer | undefined} of the next check */
    this.timer = undefined;
    /** @type {Timer | undefined} of the full translation */
    this.restTimer = undefined;
    /** @type {{ text: string, startTime: number, full: boolean } | null} the pending request */
    this.inFlight = null;
    this.hasChanged = false; // the sentence has changed since; check again after the answer
    this.isGreedy = false; // the last live answer was of one pass
    this.skipped = 0;
    this.timedOutText = null; // the last sentence that timed out
    this.pause = DEBOUNCE_MS;
    this.word = ''; // key of the note shown
    this.pace = new Pace(() => this.resume());
    this.box = make('input', { type: 'checkbox', role: 'switch', 'aria-describedby': 'live-says' });
    this.label = make('span', {});
    this.element = make('label', { class: 'live' }, this.box, make('i', { 'aria-hidden': 'true' }), this.label);
    this.description = make('span', { class: 'quiet live-says', id: 'live-says', role: 'status' });
    this.box.addEventListener('change', () => this.choose(this.box.checked));
    const { element } = field;
    element.addEventListener('compositionstart', () => this.onComposition(true));
    element.addEventListener('compositionend', () => this.onComposition(false));
    element.addEventListener('input', () => this.onInput());
    element.addEventListener('focus', () => clearTimeout(this.releaseTimer));
    element.addEventListener('blur', () => this.scheduleRelease());
  }

  get on() {
    if (this.choice) return this.choice === 'on';
    return !savesData() && !this.pace.isPaused(this.model());
  }

  choose(isOn) {
    this.choice = isOn ? 'on' : 'off';
    saveSetting(this.choice);
    this.pause = DEBOUNCE_MS;
    this.word = '';
    if (isOn) this.maybeSend();
    else this.turnOff();
    this.draw();
  }

  /**
   * Record the model time; the time of a beam search divided by the beam size is a lower bound for one hypothesis.
   * @param {import('../core/translation.js').Translation} translation
   */
  recordModelTime(translation) {
    if (translation.cached || !translation.seconds) return;
    this.pace.measure(translation.model.name, translation.seconds / (translation.request.options.beam_size ?? 1));
    this.draw();
  }

  /** A keystroke: check after the pause. */
  onInput() {
    clearTimeout(this.restTimer);
    if (!this.on) return;
    set({ still: true });
    this.schedule();
  }

  /** Send the sentence, unless it is unchanged or must wait for a pending answer. */
  maybeSend() {
    const { text } = this.field;
    this.timer = undefined;
    if (!this.on || this.field.validationError()) {
      this.cancel();
      if (this.on) this.onInvalid();
      return;
    }
    if (text === (this.inFlight ? this.inFlight.text : this.currentSentence())) {
      this.scheduleRest();
      return;
    }
    this.hasChanged = Boolean(this.inFlight) && (this.pause > DEBOUNCE_MS || this.skipped >= MAX_SKIPPED);
    if (this.hasChanged) return;
    this.skipped = this.inFlight ? this.skipped + 1 : 0;
    this.startRequest(text, false);
  }

  /** The shown translation is greedy: request the full one once typing rests. */
  scheduleRest() {
    clearTimeout(this.restTimer);
    if (this.isGreedy && state.translation?.live) this.restTimer = setTimeout(() => this.sendFull(), REST_MS);
  }

  sendFull() {
    const { text } = this.field;
    if (!this.on || this.composing || this.inFlight || text !== this.currentSentence()) return;
    this.startRequest(text, true);
  }

  startRequest(text, full) {
    clearTimeout(this.restTimer);
    this.inFlight = { text, startTime: performance.now(), full };
    clearTimeout(this.timeoutTimer);
    this.timeoutTimer = setTimeout(() => this.onTimeout(text), TIMEOUT_MS);
    this.send({ full });
  }

  /** The sentence whose translation by the selected model is shown or pending. */
  currentSentence() {
    if (this.pending() !== null) return this.pending();
    const { translation } = state;
    return translation && translation.model.name === this.model() ? translation.request.text : null;
  }

  /** Cancel the timer and the pending request. */
  cancel() {
    const pending = this.inFlight;
    this.onReplaced();
    if (pending) this.cancelRequest();
  }

  /** Reset when another request replaces the live one. */
  onReplaced() {
    clearTimeout(this.timer);
    this.timer = undefined;
    clearTimeout(this.timeoutTimer);
    clearTimeout(this.restTimer);
    this.inFlight = null;
    this.hasChanged = false;
    this.skipped = 0;
  }

  /** Live is off: release the layout. */
  turnOff() {
    this.cancel();
    this.releaseLayout();
  }

  /** The field lost focus: release the layout after a pending click. */
  scheduleRelease() {
    clearTimeout(this.releaseTimer);
    this.releaseTimer = setTimeout(() => this.releaseLayout(), CLICK_MS);
  }

  releaseLayout() {
    clearTimeout(this.releaseTimer);
    set({ still: false });
  }

  /**
   * Handle a live message. Errors are not shown, because a half-typed sentence is not an error.
   * @param {import('messages').TranslationMessage} message
   */
  onMessage(message) {
    const retryPhrase = message.what === 'error' ? RETRY_PHRASES[message.word] : undefined;
    const word = message.what === 'busy' ? 'live_busy' : retryPhrase;
    if (word) this.backOff(word);
    else if (message.what === 'error') this.onSettled();
  }

  /** The answer is shown: adapt the pause to the latency. */
  onAnswerShown(translation) {
    const latency = this.inFlight && !this.inFlight.full ? performance.now() - this.inFlight.startTime : 0;
    this.isGreedy = !this.inFlight?.full;
    if (latency > SLOW_ANSWER_MS) this.setPause(Math.max(this.pause, BACK_OFF_MS));
    else this.setPause(this.pause > 2 * DEBOUNCE_MS && this.word !== 'live_away' ? this.pause / 2 : DEBOUNCE_MS);
    this.onSettled();
    this.recordModelTime(translation);
    this.scheduleRest();
  }

  /** Resume after a pause if the field has focus and unsent text. */
  resume() {
    this.draw();
    const { element, text } = this.field;
    if (document.activeElement === element && text !== this.currentSentence()) this.onInput();
  }

  /** The request is done; check again if the sentence has changed. */
  onSettled() {
    const { hasChanged } = this;
    clearTimeout(this.timeoutTimer);
    this.inFlight = null;
    this.hasChanged = false;
    this.skipped = 0;
    if (hasChanged && this.timer === undefined) this.schedule();
  }

  /** Timeout: retry once per sentence. */
  onTimeout(text) {
    this.hasChanged ||= text !== this.timedOutText;
    this.timedOutText = text;
    this.onSettled();
  }

  /** The server is busy or the cluster unreachable: retry later. */
  backOff(word) {
    this.setPause(Math.min(MAX_BACK_OFF_MS, Math.max(BACK_OFF_MS, 2 * this.pause)), word);
    this.onReplaced();
    this.schedule();
  }

  onComposition(isComposing) {
    this.composing = isComposing;
    this.onInput();
  }

  /**
   * Schedule a check after a pause in typing, but not during input method composition. While backing off, keep a
   * pending timer: the pause is then longer than the time between keystrokes, so steady typing would postpone the check
   * forever.
   */
  schedule() {
    const isPending = this.timer !== undefined && this.pause > DEBOUNCE_MS;
    if (isPending && !this.composing) return;
    clearTimeout(this.timer);
    this.timer = this.composing ? undefined : setTimeout(() => this.maybeSend(), this.pause);
  }

  setPause(pause, word = 'live_busy') {
    this.pause = pause;
    this.word = pause > DEBOUNCE_MS ? word : '';
    this.draw();
  }

  draw() {
    this.box.checked = this.on;
    this.label.textContent = t('live');
    this.element.title = t('live_says');
    const isPaused = !this.choice && !savesData() && this.pace.isPaused(this.model());
    const word = isPaused ? 'live_slow' : this.on ? this.word : '';
    const description = word ? t(word) : '';
    if (this.description.textContent !== description) this.description.textContent = description;
  }
}
