// Translate widget: sends requests and updates the page's translation.

import { Translation, withPositions } from '../core/translation.js';
import { parsePermalink } from '../core/permalink.js';
import { filterInterventions } from '../core/interventions.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { listShadedSpans } from '../parts/reliability.js';
import { getFallback, isSameRequest, chooseLiveSelection, chooseInitialSelection, makeLinkRequest } from './permalink-request.js';
import { BackTranslation } from './back-translation.js';
import { buildForm } from './form-parts.js';
import { RequestTracker } from './request-tracker.js';

const FIELD_PADDING = 18; // pixels by which the field is higher than a translation with the same number of lines

/** @param {import('../core/server.js').Mounted} mounted */
export async function mount({ element, trigger, props, server, watch }) {
  await ready;
  new TranslateWidget(element, trigger, props, server, watch);
}

/** @typedef {import('messages').TranslationMessage} TranslationMessage */

class TranslateWidget {
  /** @param {import('../core/server.js').Server} server */
  constructor(root, trigger, props, server, watch) {
    this.root = root;
    this.isStopped = false;
    /** @type {import('messages').TokenValues[]} tokens generated so far */
    this.tokens = [];
    this.config = JSON.parse(props.config);
    this.tracker = new RequestTracker(this.config, server, trigger, {
      onMessage: (message) => this.onMessage(message),
      onLost: () => this.onServerLost(),
    });
    this.backTranslation = new BackTranslation(server, (translation) => this.showReliability(translation));
    state.defaultRequest = this.config.defaults;
    const form = buildForm(this, server);
    this.chooser = form.chooser;
    this.translationPanel = form.translationPanel;
    this.field = form.field;
    this.examples = form.examples;
    this.hint = form.hint;
    this.live = form.live;
    this.sourcePanel = form.sourcePanel;
    this.fields = form.fields;
    this.collapsed = form.collapsed;
    root.classList.add('translate');
    watch('value', () => props.value && this.onMessage(JSON.parse(props.value))); // a stopped request has no result
    on(['language'], () => this.draw());
    on(['still'], () => this.reserveSpace());
    this.field.element.addEventListener('input', () => state.still && this.reserveSpace());
    on(['busy'], () => {
      this.sourcePanel.drawButton(this.isAnswered());
      this.hint.draw();
    });
    for (const type of ['input', 'change']) root.addEventListener(type, () => this.sourcePanel.drawButton(this.isAnswered()));
    addEventListener('headlight-link', () => this.followLink());
    addEventListener('headlight-model', (event) => this.useModel(event.detail.name));
    addEventListener('headlight-request', (event) => this.translate(event.detail));
    this.onMessage(JSON.parse(props.value));
    this.draw();
    const localExample = this.followLink() ? null : this.examples.localExample();
    if (localExample) this.translateText(localExample.model, localExample.text);
  }

  useModel(name) {
    const example = this.examples.firstForModel(name);
    if (example) this.translateText(name, example.text);
    else this.chooser.choose(name);
  }

  translateText(model, text) {
    this.fields.setModelAndText(model, text);
    this.translate();
  }

  /** Translate again with a model for the sentence's language, or with the source language set. */
  applyOffer({ model, source_language }) {
    if (source_language) this.translate({ source_language, prefix: null, target: null });
    else this.translateText(model, this.field.text);
    this.field.focus();
  }

  translate(changes = {}) {
    this.fields.clear();
    const fault = this.field.validationError();
    if (fault?.word === 'blank_text') this.field.focus();
    if (fault) return this.fail(fault);
    this.fields.change(changes);
    return this.sendRequest(this.fields.request(changes, this.request));
  }

  /**
   * Send a request. `isStopped`: the visitor stopped the previous one; `linkedSelection`: selection of its permalink.
   * @param {any} request
   * @param {boolean} [isStopped]
   * @param {object | null} [linkedSelection]
   */
  sendRequest(request, isStopped = false, linkedSelection = null) {
    this.request = request;
    Object.assign(this, { isStopped, tokens: [], linkedSelection });
    this.fields.show(request);
    this.translationPanel.showStopped('');
    this.translationPanel.clearNotes();
    this.live.onReplaced();
    this.tracker.startRequest(request);
  }

  /**
   * Send the current sentence while typing, greedily unless `full`. The last request with progress stays stored for its
   * options.
   */
  sendLiveRequest({ full }) {
    this.fields.clear();
    Object.assign(this, { isStopped: false, tokens: [], linkedSelection: null });
    this.tracker.startLiveRequest({ ...this.fields.request({ prefix: null, target: null }, this.request), full });
  }

  /** Resend a permalink's request after its model was downloaded, unless the sentence has changed. */
  resendLinkRequest({ request, linkedSelection }) {
    if (request.text === this.field.text) this.sendRequest(request, false, linkedSelection);
    else this.translateText(request.model, this.field.text);
  }

  /** After a reconnect resend the request, unless the sentence has changed. */
  async onServerLost() {
    const { request, linkedSelection, isStopped } = this;
    set({ unanswered: request });
    this.abandonRequest();
    this.fail({ field: 'text', word: 'unreachable', values: {} });
    if (!(await this.tracker.shouldResend()) || request.text !== this.field.text) return;
    this.fields.clear();
    this.sendRequest(request, isStopped, linkedSelection);
  }

  abandonRequest() {
    this.tracker.abandon();
    this.showTranslation();
  }

  /** Stop and keep the partial translation with its attention; before the first token keep the previous translation. */
  stop() {
    if (this.tokens.length) {
      this.sendRequest({ ...this.request, target: this.tokens.map((token) => token.id), prefix: null }, true);
      return;
    }
    this.translationPanel.showStopped(this.isCurrent() ? 'stopped' : 'stopped_before');
    this.cancelRequest();
  }

  cancelRequest() {
    this.tracker.stop();
    this.showTranslation();
  }

  /** Follow a permalink: translate its sentence, or an example if it has only a model. Returns whether the permalink has either. */
  followLink() {
    const { request, ...selection } = parsePermalink();
    const linked = makeLinkRequest(request, this.config.defaults, this.examples.firstForModel(request.model));
    if (!linked) return false;
    this.fields.follow(linked, request);
    if (isSameRequest(linked, state.translation?.requestValues())) {
      this.translationPanel.showStopped('');
      if (state.busy) this.cancelRequest();
      else this.showTranslation();
    } else if (!state.busy || !isSameRequest(linked, this.request)) {
      const { model, prefix, target } = linked;
      this.translate({ model, prefix, target });
      this.linkedSelection = selection; // selection for the answer
    }
    return true;
  }

  /** If a permalink's model or option is invalid, fall back to the default and show the error. */
  showLinkError(field) {
    const { linkedSelection, request } = this;
    const fallback = linkedSelection ? getFallback(request, field, this.config.defaults) : undefined;
    if (fallback === undefined) return false;
    this.fields.resetOption(field);
    if (field === 'model') {
      const { prefix, target } = request;
      this.chooser.setCurrent({ model: fallback });
      this.sendRequest(this.fields.request({ prefix, target }, request), false, linkedSelection);
    } else this.sendRequest({ ...request, [field]: fallback }, false, linkedSelection);
    return true;
  }

  /** @param {TranslationMessage} message */
  onMessage(message) {
    if (!this.tracker.shouldHandle(message)) return;
    if (this.tracker.live) this.onLiveMessage(message);
    else this.onRequestMessage(message);
  }

  /** @param {TranslationMessage} message */
  onRequestMessage(message) {
    if (message.what === 'progress') {
      this.tokens = message.target;
      this.translationPanel.showPartial(withPositions(message.target, message.text), message.text, state.translation?.model.target ?? '');
    }
    if (message.what === 'error' && !this.tracker.scheduleBusyRetry(message)) {
      this.fail(message);
      if (!this.showLinkError(message.field)) this.abandonRequest();
    }
    if (message.what === 'answer') this.onTranslation(new Translation(message));
  }

  /**
   * While typing show no errors, and keep each pin on its word.
   * @param {TranslationMessage} message
   */
  onLiveMessage(message) {
    if (message.what !== 'answer') {
      this.live.onMessage(message);
      return;
    }
    const translation = new Translation({ ...message, live: true });
    this.translationPanel.showStopped(this.field.text === translation.request.text ? '' : 'checking');
    this.show(translation, chooseLiveSelection(state.translation, translation));
    this.live.onAnswerShown(translation);
  }

  onTranslation(translation) {
    const selection = chooseInitialSelection(translation, this.linkedSelection);
    this.linkedSelection = null;
    this.tracker.finish();
    this.show(translation, { busy: false, still: false, preview: null, ...selection });
    this.live.recordModelTime(translation);
  }

  show(translation, selection) {
    set({ ...filterInterventions(translation), translation, ...selection }); // permalinks set their interventions themselves
    this.fields.setAnswered(translation);
    this.draw();
    this.backTranslation.follow(translation);
  }

  fail(fault) {
    this.fields.showError(fault, this.request, this.linkedSelection);
    this.collapsed.setExpanded(true, false); // keep the error visible
    this.outdate('not_translated');
  }

  isCurrent() {
    return this.field.text === state.translation?.request.text;
  }

  /** Whether the shown translation answers the fields' request. */
  isAnswered() {
    const { translation, busy } = state;
    return !busy && isSameRequest(this.fields.request({}, this.request), translation?.requestValues());
  }

  /** Marks the displayed translation as outdated if the sentence has changed. */
  onTyped() {
    const fault = this.field.validationError();
    if (fault?.word === 'too_long') this.fields.showError(fault, this.request, null); // further typing does not fix this error
    const word = this.isCurrent() ? '' : this.live.isOn && !fault ? 'checking' : 'not_translated';
    if (word !== this.translationPanel.noteKey) this.outdate(word);
  }

  /** Marks the displayed translation as outdated, unless it is the field's. `word`: key of the note. */
  outdate(word) {
    if (!state.translation) return;
    this.translationPanel.showStopped(this.isCurrent() ? '' : word);
    if (!state.busy) this.showReliability(state.translation);
  }

  draw() {
    const model = state.translation?.model;
    this.sourcePanel.draw(model, this.isAnswered());
    this.translationPanel.draw(model);
    this.examples.draw(this.field.text);
    this.hint.draw();
    this.live.draw();
    this.fields.draw();
    this.showTranslation();
  }

  /** While typing reserve the height of the translation or of the field, whichever is larger. */
  reserveSpace() {
    this.translationPanel.reserveSpace(state.still, this.field.element.offsetHeight - FIELD_PADDING, this.field.text);
    this.root.classList.toggle('still', state.still);
  }

  showTranslation() {
    if (!state.translation) return;
    this.translationPanel.show(state.translation, this.isStopped);
    if (state.still) this.translationPanel.growSpace();
    this.field.fitText();
    this.showReliability(state.translation);
  }

  showReliability(translation) {
    if (translation !== state.translation) return;
    this.translationPanel.showReliability(translation);
    this.field.overlay(translation.source_text, listShadedSpans(translation.reliability), translation.source);
  }
}
