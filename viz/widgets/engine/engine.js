// The engine: checks requests, loads models, and keeps the latest translations.

import { makeAnswer } from './answer.js';
import { backTranslate } from './back-translation.js';
import { Fault } from './fault.js';
import { judgeTranslation, usesBackTranslation } from './reliability.js';
import { checkRequest, flatten } from './requests.js';
import { canRerank, ownChoice, rerank } from './reranking.js';
import { translate } from './translator.js';

const MAX_TRANSLATIONS = 12; // translations in memory

/** Options of answers while typing: greedy. */
const LIVE_OPTIONS = { beam_size: 1, n_best: 1, back_weight: 0, temperature: 0 };

export class Engine {
  /**
   * @param {{ models: Record<string, import('./loader.js').SiteModel>, limits: { characters: number, tokens: number },
   *   standalone?: { version: string, file: import('./loader.js').SiteFile } }} site `standalone`: template of the page as a file
   * @param {import('./loader.js').ModelLoader} loader
   */
  constructor({ models, limits, standalone }, loader) {
    this.models = models;
    this.limits = limits;
    this.standalone = standalone;
    this.loader = loader;
    /** @type {Map<string, any>} by request */
    this.translations = new Map();
  }

  /** The entry of a model by name; without a name the first. */
  entry(name) {
    const entry = this.models[name || Object.keys(this.models)[0]];
    if (!entry) throw new Fault('model', 'unknown_model', { given: name, choices: Object.keys(this.models).join(', ') });
    return entry;
  }

  /**
   * A checked request of the page. `defaults`: options that it leaves out get the model's values, else those of a greedy search.
   * @param {any} values
   * @param {boolean} [defaults]
   */
  check(values, defaults = false) {
    const flat = flatten(values ?? {});
    const entry = this.entry(flat.model);
    const request = checkRequest(flat, defaults ? entry.answer_model.defaults : {}, entry.config, this.limits);
    return { entry, request: entry.reverse ? request : ownChoice(request) };
  }

  /**
   * Translates, or returns an equal translation from before. Null if it was stopped.
   * @param {import('./loader.js').SiteModel} entry
   * @param {any} request
   * @param {import('./translator.js').Control} [control]
   */
  async translate(entry, request, control = {}) {
    const key = JSON.stringify([entry.name, request]);
    const known = this.translations.get(key);
    if (known) return { ...known, cached: true };
    const readsBack = request.options.back_weight > 0 && request.options.beam_size > 1 && request.target === null;
    const model = await this.loader.load(entry.name);
    const loadingReverse = readsBack ? this.loadReverse(entry) : null; // during the search: the words need one model alone
    const searched = await translate(model, request, this.limits, control);
    if (!searched) return null;
    if (loadingReverse) control.onToken?.(searched.target, searched.text, true);
    const reverse = canRerank(searched) ? await loadingReverse : null;
    const translation = reverse ? await rerank(model, reverse, searched, this.limits, control) : searched;
    if (!translation) return null;
    this.translations.set(key, translation);
    const [oldest] = this.translations.keys();
    if (this.translations.size > MAX_TRANSLATIONS) this.translations.delete(oldest);
    return translation;
  }

  /** The model of the opposite direction, or null if its files fail: then the search chooses alone, as on the server. */
  async loadReverse({ reverse }) {
    try {
      return await this.loader.load(reverse);
    } catch (error) {
      console.warn(error);
      return null;
    }
  }

  /**
   * The reliability after reading back, as far as there is a model that can. Null if it was stopped.
   * @param {import('./loader.js').SiteModel} entry
   * @param {any} translation
   * @param {import('./translator.js').Control} [control]
   */
  async readBack(entry, translation, control = {}) {
    const canRead = entry.reverse && usesBackTranslation(translation, entry.rule);
    const back = canRead ? await backTranslate(await this.loader.load(entry.reverse), translation, control) : null;
    return back === undefined ? null : judgeTranslation(translation, entry.rule, back);
  }

  /** The answer of a translation. */
  async answer(entry, translation) {
    const { targetTokenizer } = await this.loader.load(entry.name);
    const answer = makeAnswer(translation, entry, (id) => targetTokenizer.label(id));
    return { ...answer, cached: Boolean(translation.cached) };
  }

  /** The request of a message, with the options of live answers. */
  checkMessage({ live, full, turn, ...values }) {
    const own = live && !full ? { ...values, ...LIVE_OPTIONS, target: null, prefix: null } : values;
    return this.check(own, true);
  }
}
