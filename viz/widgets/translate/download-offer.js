// Offers to download a model: description, size, confirmation and progress.

import { getFault } from '../core/boot.js';
import { make, replace } from '../core/dom.js';
import { LANGUAGES } from '../core/languages.js';
import { Watchdog } from '../core/watchdog.js';
import { on, set, state } from '../core/state.js';
import { errorText, t } from '../core/i18n.js';
import { kindName, pairName, formatSize, formatWait } from '../parts/model-names.js';
import { hubClient } from './hub-client.js';

const REFERENCE_BANDWIDTH = 50e6 / 8; // bytes per second of the 50 Mbit/s connection that the text names
const MIN_RATE_MS = 1500; // minimum milliseconds of download for an estimate of the rate

export class DownloadOffer {
  /** After a download, `onModels` receives all installed models, and `onReady` the model's name unless it was deselected. */
  constructor({ onModels, onReady }) {
    this.onModels = onModels;
    this.onReady = onReady;
    this.model = null;
    this.opensModel = true;
    this.phase = 'closed';
    /** @type {import('../core/server.js').Fault | null} */
    this.fault = null;
    /** @type {import('messages').DownloadPlan | null} */
    this.plan = null;
    this.done = 0; // bytes
    /** @type {number | null} bytes */
    this.total = null;
    /** @type {number | null} */
    this.secondsLeft = null;
    /** @type {{ time: number, done: number } | null} milliseconds and bytes at which the rate measurement starts */
    this.firstProgress = null;
    this.watchdog = new Watchdog(() => this.fail({ word: 'unreachable', values: {} }));
    this.title = make('p', { class: 'what' });
    this.facts = make('p', { class: 'numeric' });
    this.description = make('p', { class: 'quiet' });
    this.bar = make('progress', {});
    this.progress = make('span', { class: 'quiet numeric far' });
    this.button = make('button', { type: 'button', class: 'fetch', onclick: () => this.run() });
    this.dismiss = make('button', { type: 'button', class: 'link', onclick: () => this.close() });
    this.status = make('p', { class: 'hidden-text', role: 'status' });
    this.error = make('p', { class: 'error', id: 'option-model-error', role: 'alert' });
    this.summary = make('summary', {});
    this.manual = make('p', {});
    this.details = make('details', { class: 'quiet', hidden: true }, this.summary, this.manual);
    this.panel = make(
      'section',
      { class: 'offer', hidden: true },
      this.title,
      this.facts,
      this.description,
      this.bar,
      make('div', { class: 'line' }, this.button, this.dismiss, this.progress),
    );
    this.element = make('div', { class: 'model-offer' }, this.panel, this.error, this.details, this.status);
    hubClient.onMessage = (message) => this.onMessage(message);
    on(['language'], () => this.draw());
  }

  get busy() {
    return this.phase === 'downloading';
  }

  /** Offer a model; the download starts after confirmation. `isNewChoice`: the visitor has just selected it. */
  async open(model, isNewChoice) {
    if (this.busy && this.model.name === model.name) {
      this.opensModel = true;
      return;
    }
    if (this.busy) this.pause();
    this.model = model;
    this.plan = null;
    this.done = 0;
    this.total = null;
    this.secondsLeft = null;
    this.fault = null;
    this.opensModel = true;
    this.phase = 'loading';
    this.draw();
    if (isNewChoice) this.button.focus({ preventScroll: true });
    this.panel.scrollIntoView({ block: 'nearest' });
    try {
      const plan = await hubClient.downloadInfo(model.name);
      if (this.model !== model || this.phase !== 'loading') return;
      if ('models' in plan) {
        this.onDownloaded(plan);
        return;
      }
      set({ hubAway: '' });
      this.plan = plan;
      this.done = plan.bytes - plan.missing;
      this.phase = 'offered';
      this.draw();
    } catch (error) {
      if (this.model === model && this.phase === 'loading') this.fail(getFault(error) ?? { word: 'our_fault', values: {} });
    }
  }

  run() {
    if (this.phase === 'loading') return; // size and license are not loaded yet
    if (this.busy) {
      this.pause();
      this.phase = 'stopped';
      this.draw();
      return;
    }
    if (this.phase === 'downloaded') {
      this.close();
      this.onReady(this.model.name);
      return;
    }
    if (this.phase === 'failed' && !this.plan) {
      this.open(this.model, true);
      return;
    }
    this.phase = 'downloading';
    this.fault = null;
    this.firstProgress = null;
    hubClient.fetch(this.model.name);
    this.watchdog.reset();
    this.draw();
  }

  /** Pause; the server keeps partial files. */
  pause() {
    this.watchdog.stop();
    hubClient.stop();
  }

  close() {
    if (this.busy) this.pause();
    this.phase = 'closed';
    this.fault = null;
    this.draw();
  }

  /** Show or clear the error of a model, in any phase. */
  showError(fault) {
    this.fault = fault;
    this.draw();
  }

  /** @param {import('../core/server.js').Fault} fault */
  fail(fault) {
    this.watchdog.stop();
    this.phase = 'failed';
    this.fault = fault;
    if (fault.word === 'hub_offline') set({ hubAway: fault.values.host });
    this.draw();
  }

  /** @param {import('messages').DownloadMessage} message */
  onMessage(message) {
    if (!this.busy) return;
    this.watchdog.reset();
    if (message.what === 'error') this.fail(message);
    if (message.what === 'fetched') this.onDownloaded(message);
    if (message.what !== 'fetching') return;
    const now = performance.now();
    this.firstProgress ??= { time: now, done: message.done };
    this.done = message.done;
    this.total = message.total;
    const rate = (message.done - this.firstProgress.done) / (now - this.firstProgress.time);
    this.secondsLeft = now - this.firstProgress.time > MIN_RATE_MS && rate > 0 ? (message.total - message.done) / rate / 1000 : null;
    this.draw();
  }

  /** @param {import('messages').Downloaded} downloaded */
  onDownloaded({ name, models, kind }) {
    this.watchdog.stop();
    const model = models.find((item) => item.name === name);
    if (kind === 'classifier' && model) {
      this.showClassifierReady(model);
      return;
    }
    this.phase = this.opensModel ? 'closed' : 'downloaded';
    this.status.textContent = t('offer_here', { model: name });
    this.draw();
    this.onModels(models);
    if (this.opensModel) this.onReady(name);
  }

  /** Open the Sentiment tab, because classifiers do not translate. */
  showClassifierReady(model) {
    this.phase = 'closed';
    this.status.textContent = t('offer_here', { model: model.name });
    this.draw();
    set({ fetched: state.fetched + 1 });
    dispatchEvent(new CustomEvent('headlight-classifier', { detail: model }));
    if (this.opensModel && document.getElementById('panel-sentiment')) set({ tab: 'sentiment' });
  }

  draw() {
    const { phase, model, plan, fault } = this;
    const offline = fault?.word === 'hub_offline';
    this.error.textContent = offline ? t('hub_away', fault.values) : fault ? errorText(fault) : '';
    this.details.hidden = !offline;
    this.summary.textContent = t('hub_how');
    this.manual.textContent = t('hub_by_hand');
    this.panel.hidden = phase === 'closed';
    if (phase === 'closed') return;
    const plannedModel = { ...model, ...(plan ?? {}), where: 'hub' };
    const pair = pairName(plannedModel);
    const name = make('b', {}, pair ? `${pair} · ${kindName(plannedModel)}` : model.name);
    replace(this.title, name, pair ? make('span', { class: 'quiet', lang: 'en' }, model.name) : null);
    this.panel.setAttribute('aria-label', t('offer_label', { model: model.name }));
    this.facts.textContent = this.factsText(plan, model);
    this.facts.hidden = !this.facts.textContent;
    this.description.textContent = this.descriptionText(plan, model);
    this.description.hidden = phase === 'failed';
    this.drawProgress();
    this.button.textContent = t(this.buttonKey());
    this.button.classList.toggle('stops', this.busy);
    this.button.setAttribute('aria-disabled', String(phase === 'loading'));
    this.dismiss.textContent = t('offer_not_now');
    this.dismiss.hidden = this.busy;
  }

  buttonKey() {
    if (this.busy) return 'stop';
    if (this.phase === 'downloaded') return 'models_use';
    if (this.phase === 'failed' && !this.plan) return 'offer_again';
    return this.done > 0 ? 'offer_continue' : 'offer_download';
  }

  factsText(plan, { bytes }) {
    if (!plan) return bytes ? t('offer_about', { size: formatSize(bytes) }) : '';
    const licence = plan.licence ? t('offer_licence', { licence: plan.licence }) : t('offer_no_licence');
    return [formatSize(plan.bytes), licence, t('offer_revision', { revision: plan.revision.slice(0, 8) })].join(' · ');
  }

  descriptionText(plan, { bytes }) {
    if (this.phase === 'downloaded') return t('offer_here', { model: this.model.name });
    if (this.phase === 'stopped') return t('offer_stopped', { done: formatSize(this.done) });
    const missing = plan ? plan.bytes - this.done : bytes;
    const parts = [t('offer_once')];
    if (plan && this.done && !this.busy) parts.push(t('offer_part', { done: formatSize(this.done) }));
    if (missing && !this.busy) parts.push(t('offer_wait', { wait: formatWait(missing / REFERENCE_BANDWIDTH) }));
    if (this.phase === 'loading') parts.push(t('offer_asking'));
    return parts.join(LANGUAGES[state.language].gap);
  }

  drawProgress() {
    this.bar.style.visibility = this.busy ? 'visible' : 'hidden'; // keep its space
    this.progress.hidden = !this.busy;
    if (!this.busy) return;
    const total = this.total ?? this.plan?.bytes ?? 0;
    this.bar.setAttribute('aria-label', t('offer_label', { model: this.model.name }));
    if (total) Object.assign(this.bar, { max: total, value: this.done });
    else this.bar.removeAttribute('value');
    const timeLeft = this.secondsLeft ? t('offer_left', { wait: formatWait(this.secondsLeft) }) : '';
    this.progress.textContent = total
      ? [t('offer_far', { done: formatSize(this.done), total: formatSize(total) }), timeLeft].filter(Boolean).join(' · ')
      : '';
  }
}
