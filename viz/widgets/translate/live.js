// "Live": translates greedily after each short pause in typing, and with all options after a longer pause or on Enter.
// Under load it sends fewer requests and shows a note.

import { make } from '../core/dom.js';
import { set, state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { Pace } from './pace.js';

const DEBOUNCE_MS = 120; // milliseconds after the last keystroke
const FULL_DELAY_MS = 1500; // milliseconds after an answer until the same sentence is translated with all options
const SLOW_ANSWER_MS = 1000; // answers slower than this increase the pause
const BACK_OFF_MS = 500;
const MAX_BACK_OFF_MS = 4000;
const TIMEOUT_MS = 8000; // milliseconds until a pending request is abandoned
const MAX_SKIPPED = 3; // maximum number of consecutive requests that are replaced before their answer
const CLICK_MS = 350; // duration of a click in milliseconds
const STORAGE_KEY = 'headlight-live';
/** @type {Record<string, string>} */
const RETRY_PHRASES = { cluster_gone: 'live_away', cluster_busy: 'live_busy' }; // notes for errors that are not the sentence's

/** The visitor's stored setting, 'on' or 'off'; null if there is none or storage is blocked. */
function loadSetting() {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

function saveSetting(setting) {
  try {
    localStorage.setItem(STORAGE_KEY, setting);
  } catch {
    // Storage is blocked: the setting lasts for this visit.
  }
}

const shouldSaveData = () =>
  Boolean(/** @type {any} */ (navigator).connection?.saveData) || matchMedia('(prefers-reduced-data: reduce)').matches;

export class Live {
  /**
   * `send({ full })` sends the current sentence, greedily unless `full`; `cancelRequest()` cancels that request;
   * `onInvalid()` is called for an invalid sentence. `model()` returns the selected model's name, `pending()` the sentence
   * of a pending full request or null.
   */
  constructor(field, { send, cancelRequest, onInvalid, model, pending }) {
    this.pending = pending;
    this.onInvalid = onInvalid;
    this.field = field;
    this.send = send;
    this.cancelRequest = cancelRequest;
    this.model = model;
    this.setting = loadSetting();
    this.isComposing = false; // whether an input method is composing
    /** @type {Timer | undefined} of the next check */
    this.timer = undefined;
    /** @type {Timer | undefined} of the full translation */
    this.fullTimer = undefined;
    /** @type {{ text: string, startTime: number, full: boolean } | null} the pending request */
    this.inFlight = null;
    this.hasChanged = false; // whether the sentence has changed since the pending request
    this.isGreedy = false; // whether the last live answer was decoded greedily
    this.skipped = 0;
    this.timedOutText = null; // the last sentence that timed out
    this.pause = DEBOUNCE_MS;
    this.noteKey = ''; // key of the note shown
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

  get isOn() {
    if (this.setting) return this.setting === 'on';
    return !shouldSaveData() && !this.pace.isPaused(this.model());
  }

  choose(isOn) {
    this.setting = isOn ? 'on' : 'off';
    saveSetting(this.setting);
    this.pause = DEBOUNCE_MS;
    this.noteKey = '';
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

  /** Schedules a check after a keystroke. */
  onInput() {
    clearTimeout(this.fullTimer);
    if (!this.isOn) return;
    set({ still: true });
    this.schedule();
  }

  /** Send the sentence, unless it is unchanged or must wait for a pending answer. */
  maybeSend() {
    const { text } = this.field;
    this.timer = undefined;
    if (!this.isOn || this.field.validationError()) {
      this.cancel();
      if (this.isOn) this.onInvalid();
      return;
    }
    if (text === (this.inFlight ? this.inFlight.text : this.currentSentence())) {
      this.scheduleFull();
      return;
    }
    this.hasChanged = Boolean(this.inFlight) && (this.pause > DEBOUNCE_MS || this.skipped >= MAX_SKIPPED);
    if (this.hasChanged) return;
    this.skipped = this.inFlight ? this.skipped + 1 : 0;
    this.startRequest(text, false);
  }

  /** Schedules a translation with all options if the displayed one is greedy. */
  scheduleFull() {
    clearTimeout(this.fullTimer);
    if (this.isGreedy && state.translation?.live) this.fullTimer = setTimeout(() => this.sendFull(), FULL_DELAY_MS);
  }

  sendFull() {
    const { text } = this.field;
    if (!this.isOn || this.isComposing || this.inFlight || text !== this.currentSentence()) return;
    this.startRequest(text, true);
  }

  startRequest(text, full) {
    clearTimeout(this.fullTimer);
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
    clearTimeout(this.fullTimer);
    this.inFlight = null;
    this.hasChanged = false;
    this.skipped = 0;
  }

  /** Cancels the requests and releases the layout. */
  turnOff() {
    this.cancel();
    this.releaseLayout();
  }

  /** Releases the layout after the field has lost focus, but not before a click that caused it has ended. */
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

  /** Adapts the pause to the latency of an answer. */
  onAnswerShown(translation) {
    const latency = this.inFlight && !this.inFlight.full ? performance.now() - this.inFlight.startTime : 0;
    this.isGreedy = !this.inFlight?.full;
    if (latency > SLOW_ANSWER_MS) this.setPause(Math.max(this.pause, BACK_OFF_MS));
    else this.setPause(this.pause > 2 * DEBOUNCE_MS && this.noteKey !== 'live_away' ? this.pause / 2 : DEBOUNCE_MS);
    this.onSettled();
    this.recordModelTime(translation);
    this.scheduleFull();
  }

  /** Resume after a pause if the field has focus and unsent text. */
  resume() {
    this.draw();
    const { element, text } = this.field;
    if (document.activeElement === element && text !== this.currentSentence()) this.onInput();
  }

  /** Ends the pending request, and schedules a check if the sentence has changed. */
  onSettled() {
    const { hasChanged } = this;
    clearTimeout(this.timeoutTimer);
    this.inFlight = null;
    this.hasChanged = false;
    this.skipped = 0;
    if (hasChanged && this.timer === undefined) this.schedule();
  }

  /** Abandons a request after the timeout, and retries once per sentence. */
  onTimeout(text) {
    this.hasChanged ||= text !== this.timedOutText;
    this.timedOutText = text;
    this.onSettled();
  }

  /** Retries later, because the server is busy or the cluster unreachable. `word`: key of the note. */
  backOff(word) {
    this.setPause(Math.min(MAX_BACK_OFF_MS, Math.max(BACK_OFF_MS, 2 * this.pause)), word);
    this.onReplaced();
    this.schedule();
  }

  onComposition(isComposing) {
    this.isComposing = isComposing;
    this.onInput();
  }

  /**
   * Schedule a check after a pause in typing, but not during input method composition. While backing off, keep a
   * pending timer: the pause is then longer than the time between keystrokes, so steady typing would postpone the check
   * forever.
   */
  schedule() {
    const isPending = this.timer !== undefined && this.pause > DEBOUNCE_MS;
    if (isPending && !this.isComposing) return;
    clearTimeout(this.timer);
    this.timer = this.isComposing ? undefined : setTimeout(() => this.maybeSend(), this.pause);
  }

  setPause(pause, word = 'live_busy') {
    this.pause = pause;
    this.noteKey = pause > DEBOUNCE_MS ? word : '';
    this.draw();
  }

  draw() {
    this.box.checked = this.isOn;
    this.label.textContent = t('live');
    this.element.title = t('live_says');
    const isPaused = !this.setting && !shouldSaveData() && this.pace.isPaused(this.model());
    const word = isPaused ? 'live_slow' : this.isOn ? this.noteKey : '';
    const description = word ? t(word) : '';
    if (this.description.textContent !== description) this.description.textContent = description;
  }
}
