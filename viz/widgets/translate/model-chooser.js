// Selects model and languages: the menu, the language pickers and the download offer.

import { make } from '../core/dom.js';
import { on, set, state } from '../core/state.js';
import { formatUnsupported } from '../parts/unsupported-rules.js';
import { connectHub, hubClient } from './hub-client.js';
import { LanguagePicker } from './language-picker.js';
import { ModelMenu } from './model-menu.js';
import { DownloadOffer } from './download-offer.js';

export class ModelChooser {
  /**
   * `translateWith(model)` translates the sentence with a model, `translateAgain()` with the selected one; `resend(request)`
   * resends the request that waits for a download.
   * @param {import('../core/server.js').Server} server
   */
  constructor(config, server, { translateWith, resend, translateAgain }) {
    connectHub(server);
    this.offersDownloads = Boolean(server.list_models);
    this.config = config;
    this.translateWith = translateWith;
    this.resend = resend;
    this.model = config.defaults.model;
    this.pendingRequest = null;
    this.setModels(config.models);
    this.menu = new ModelMenu(
      config,
      (name) => this.choose(name),
      () => this.refresh(),
    );
    on(['hubAway'], () => this.menu.draw(this.currentModel()));
    this.offer = new DownloadOffer({ onModels: (models) => this.onModels(models), onReady: (name) => this.onModelReady(name) });
    this.rules = make('p', { class: 'quiet rules' });
    this.languages = ['source', 'target'].map((side) => new LanguagePicker(side, translateAgain));
  }

  /** Set the models and their known default options. */
  setModels(models) {
    this.config.models = models;
    for (const { name, defaults } of models) if (defaults) state.modelDefaults[name] ??= defaults;
  }

  /** Reload the list, because other visitors may have downloaded models. */
  async refresh() {
    if (!this.offersDownloads) return;
    hubClient.checkStatus();
    try {
      const models = await hubClient.models();
      if (JSON.stringify(models) !== JSON.stringify(this.config.models)) this.onModels(models);
    } catch {
      // Keep the previous list.
    }
  }

  onModels(models) {
    this.setModels(models);
    this.menu.draw(this.currentModel());
    set({ fetched: state.fetched + 1 });
  }

  /** Show the model and the languages of a request or an answer. */
  setCurrent({ model, source_language = '', target_language = '' }) {
    this.model = model;
    [source_language, target_language].forEach((code, index) => (this.languages[index].selectedCode = code));
    this.menu.draw(this.currentModel());
  }

  currentModel() {
    const { model } = state.translation ?? {};
    return this.find(this.model) ?? model;
  }

  find(name) {
    const { model } = state.translation ?? {};
    return this.config.models.find((item) => item.name === name) ?? (model?.name === name ? model : undefined);
  }

  /** The selected languages that this model supports. */
  forModel(model) {
    const [source_language, target_language] = this.languages.map(({ selectedCode }) => (model === this.model ? selectedCode : ''));
    return { model, source_language, target_language };
  }

  /** Translate the sentence with this model; offer the download if it is missing. */
  choose(name) {
    const model = this.find(name);
    this.pendingRequest = null;
    this.offer.showError(null);
    if (!model?.downloaded) {
      this.offer.open(model ?? { name, source: '', target: '', bytes: 0 }, true);
      return;
    }
    if (this.offer.busy) this.offer.opensModel = false;
    else this.offer.close();
    this.translateWith(name);
  }

  /** After a download, resend the waiting request, or translate with the new model. */
  onModelReady(name) {
    const { pendingRequest } = this;
    this.pendingRequest = null;
    if (pendingRequest?.request.model === name) this.resend(pendingRequest);
    else this.translateWith(name);
  }

  /** Offer the download of a missing model. After any other error fall back to the last model that worked. */
  fail({ word, values }, request, linkedSelection) {
    if (word === 'model_not_here') {
      this.pendingRequest = { request, linkedSelection };
      this.offer.open(
        this.find(values.given) ?? { name: values.given, source: '', target: '', bytes: 1e6 * values.megabytes },
        !linkedSelection,
      );
    } else this.offer.showError({ word, values });
    if (state.translation) this.setCurrent(state.translation.request);
  }

  draw() {
    this.menu.draw(this.currentModel());
    for (const language of this.languages) language.draw(state.translation?.model);
    this.rules.textContent = formatUnsupported(state.translation?.model);
  }
}
