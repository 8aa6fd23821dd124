// Translate widget: sends requests and updates the page's translation.

import { Translation, placed } from '../core/translation.js';
import { readLink } from '../core/link.js';
import { keptChanges } from '../core/interventions.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { shadedSpans } from '../parts/reliability.js';
import { Chooser } from './chooser.js';
import { Examples } from './examples.js';
import { SentenceField } from './field.js';
import { Fields } from './fields.js';
import { Folded } from './folded.js';
import { defaultInstead, isAsked, liveLook, lookAt, wantedBy } from './linked.js';
import { LooksLike } from './looks.js';
import { Live } from './live.js';
import { mountOptions } from './options.js';
import { collect } from './parcel.js';
import { ReadBack } from './readback.js';
import { Reading } from './reading.js';
import { Turns } from './turns.js';
import { Written } from './written.js';

export async function mount({ element, trigger, props, server, watch }) {
  await ready;
  new TranslateWidget(element, trigger, props, server, watch);
}

class TranslateWidget {
  constructor(root, trigger, props, server, watch) {
    this.root = root;
    this.server = server;
    this.config = JSON.parse(props.config);
    this.cut = false;
    this.turns = new Turns(this.config, trigger, { hear: (message) => this.hear(message), lost: () => this.lose() });
    this.readBack = new ReadBack(server, (translation) => this.judge(translation));
    state.defaultRequest = this.config.defaults;
    this.build();
    watch('value', () => props.value && this.hear(JSON.parse(props.value))); // of a request that was stopped, nothing comes
    on(['language'], () => this.draw());
    on(['still'], () => this.hold());
    this.field.element.addEventListener('input', () => state.still && this.hold());
    on(['busy'], () => {
      this.reading.drawButton();
      this.looks.draw();
    });
    addEventListener('headlight-link', () => this.followLink());
    addEventListener('headlight-model', (/** @type {CustomEvent} */ event) => this.useModel(event.detail.name));
    addEventListener('headlight-request', (/** @type {CustomEvent} */ event) => this.translate(event.detail));
    this.hear(JSON.parse(props.value));
    this.draw();
    this.followLink();
  }

  build() {
    const options = mountOptions(this.config, () => this.translate());
    const take = (model) => this.take(model, this.field.text);
    this.chooser = new Chooser(this.config, { take, ask: (waits) => this.askAgain(waits), again: () => this.translate() });
    const { menu, offer, rules } = this.chooser;
    const [reads, writes] = this.chooser.languages;
    const goOn = (ids) => this.translate({ prefix: ids, target: null });
    const undo = () => {
      options.clearTarget();
      this.translate();
    };
    this.written = new Written({ language: writes, goOn, undo });
    this.field = new SentenceField({ limit: this.config.limits.characters, alike: this.written.text, translate: () => this.translate() });
    this.examples = new Examples(this.config.examples, (model, text) => this.take(model, text));
    this.looks = new LooksLike({ go: (offer) => this.takeOffer(offer), text: () => this.field.text });
    this.field.element.addEventListener('input', () => {
      this.looks.draw();
      if (this.written.says && this.isCurrent()) this.outdate('');
    });
    const about = { model: () => this.chooser.model, pending: () => (state.busy ? this.asked.text : null) };
    const does = { ask: () => this.askLive(), drop: () => this.turns.stop(), refuse: () => this.outdate('not_translated') };
    this.live = new Live(this.field, { ...does, ...about });
    this.reading = new Reading({
      language: reads,
      above: [menu.element, this.examples.element],
      field: this.field,
      below: [offer.element, rules],
      looks: this.looks.element,
      live: this.live,
      options: options.element,
      act: () => (state.busy ? this.stop() : this.translate()),
    });
    this.fields = new Fields({ sentence: this.field, chooser: this.chooser, options, unfold: () => this.reading.unfold(true) });
    this.root.classList.add('translate');
    this.desk = new Folded(this.root, () => this.field.focus());
    this.root.append(this.reading.element, this.written.element, options.element, this.desk.element, this.written.popup);
  }

  useModel(name) {
    const example = this.examples.of(name);
    if (example) this.take(name, example.text);
    else this.chooser.choose(name);
  }

  take(model, text) {
    this.fields.take(model, text);
    this.translate();
  }

  /** The sentence again, by a model that reads its language, or by the same one told which language it is. */
  takeOffer({ model, source_language }) {
    if (source_language) this.translate({ source_language, prefix: null, target: null });
    else this.take(model, this.field.text);
    this.field.focus();
  }

  translate(more = {}) {
    this.fields.clear();
    const fault = this.field.fault();
    if (fault) {
      this.fail(fault);
      if (fault.word === 'blank_text') this.field.focus();
      return;
    }
    this.fields.change(more);
    this.ask(this.fields.request(more, this.asked));
  }

  ask(request, cut = false, following = null) {
    this.asked = request;
    Object.assign(this, { cut, tokens: [], following });
    this.fields.show(request);
    this.written.stopped('');
    this.written.wait();
    this.live.replaced();
    this.turns.ask(request);
  }

  /** The sentence as it stands, while it is typed. What was asked for last remains so: its options are the visitor's. */
  askLive() {
    this.fields.clear();
    Object.assign(this, { cut: false, tokens: [], following: null });
    this.turns.askLive(this.fields.request({ prefix: null, target: null }, this.asked));
  }

  /** What an address asked for, of a model that was not here then; a sentence that was typed since counts for more. */
  askAgain({ request, following }) {
    if (request.text === this.field.text) this.ask(request, false, following);
    else this.take(request.model, this.field.text);
  }

  /** After a reconnect resend the request, unless the sentence has changed. */
  async lose() {
    const { asked, following, cut } = this;
    set({ unanswered: asked });
    this.drop();
    this.fail({ field: 'text', word: 'unreachable' });
    if (!(await this.turns.isBack()) || asked.text !== this.field.text) return;
    this.fields.clear();
    this.ask(asked, cut, following);
  }

  drop() {
    this.turns.drop();
    this.showTranslation();
  }

  /** What is written by now stays, with all its attention; before the first word, the last translation does. */
  stop() {
    if (this.tokens.length) {
      this.ask({ ...this.asked, target: this.tokens.map((token) => token.id), prefix: null }, true);
      return;
    }
    this.written.stopped(this.isCurrent() ? 'stopped' : 'stopped_before');
    this.leave();
  }

  leave() {
    this.turns.stop();
    this.showTranslation();
  }

  /** An address that names another sentence: translate that. One that names a model alone: its example. */
  followLink() {
    const { request, ...look } = readLink();
    const wanted = wantedBy(request, this.config.defaults, this.examples.of(request.model));
    if (!wanted) return;
    this.fields.follow(wanted, request);
    if (isAsked(wanted, state.translation?.asked())) {
      this.written.stopped('');
      if (state.busy) this.leave();
      else this.showTranslation();
    } else if (!state.busy || !isAsked(wanted, this.asked)) {
      const { model, prefix, target } = wanted;
      this.translate({ model, prefix, target });
      this.following = look; // what to look at once it is there
    }
  }

  /** A link that asks for what there is not shows the rest of it, with the complaint beside the field. */
  recover(field) {
    const { following, asked } = this;
    const instead = following ? defaultInstead(asked, field, this.config.defaults) : undefined;
    if (instead === undefined) return false;
    this.fields.leave(field);
    if (field === 'model') {
      const { prefix, target } = asked;
      this.chooser.settle({ model: instead });
      this.ask(this.fields.request({ prefix, target }, asked), false, following);
    } else this.ask({ ...asked, [field]: instead }, false, following);
    return true;
  }

  hear(message) {
    if (!this.turns.hears(message)) return;
    if (message.what === 'parcel') collect(this.server, message).then((answer) => this.hear(answer));
    else if (this.turns.live) this.hearLive(message);
    else this.hearAsked(message);
  }

  hearAsked(message) {
    if (message.what === 'progress') {
      this.tokens = message.target;
      this.written.grow(placed(message.target, message.text), message.text, state.translation?.model.target ?? '');
    }
    if (message.what === 'error' && !this.turns.putsOff(message)) {
      this.fail(message);
      if (!this.recover(message.field)) this.drop();
    }
    if (message.what === 'answer') this.arrive(new Translation(message));
  }

  /** While one types: no fault is told, and every pin stays with its word. */
  hearLive(message) {
    if (message.what !== 'answer') {
      this.live.hear(message);
      return;
    }
    const translation = new Translation({ ...message, live: true });
    this.written.stopped('');
    this.show(translation, liveLook(state.translation, translation));
    this.live.answered(translation);
  }

  arrive(translation) {
    const look = lookAt(translation, this.following);
    this.following = null;
    this.turns.end();
    this.show(translation, { busy: false, still: false, preview: null, ...look });
    this.live.measure(translation);
  }

  show(translation, look) {
    set({ ...keptChanges(translation), translation, ...look }); // a link says itself what is changed
    this.fields.settle(translation);
    this.draw();
    this.readBack.follow(translation);
  }

  fail(fault) {
    this.fields.fail(fault, this.asked, this.following);
    this.desk.turn(true, false); // it must be seen
    this.outdate('not_translated');
  }

  isCurrent() {
    return this.field.text === state.translation?.request.text;
  }

  /** No translation comes of the sentence in the field: `word` says so of the last one, and it looks like that. */
  outdate(word) {
    if (!state.translation) return;
    this.written.stopped(this.isCurrent() ? '' : word);
    if (!state.busy) this.showTranslation();
  }

  draw() {
    const model = state.translation?.model;
    this.reading.draw(model);
    this.written.draw(model);
    this.examples.draw(this.field.text);
    this.looks.draw();
    this.live.draw();
    this.fields.draw();
    this.showTranslation();
  }

  /** While one types, the translation keeps the room that it has, or that the sentence needs. */
  hold() {
    this.written.hold(state.still, this.field.element.offsetHeight);
    this.root.classList.toggle('still', state.still);
  }

  showTranslation() {
    if (!state.translation) return;
    this.written.show(state.translation, this.cut);
    this.field.fitText();
    this.judge(state.translation);
  }

  judge(translation) {
    if (translation !== state.translation) return;
    this.written.judge(translation);
    this.field.shade(translation.source_text, shadedSpans(translation.reliability));
  }
}
