// Chooses the second model: the reverse model, the same model with another search, or another model.

import { make, replace } from '../core/dom.js';
import { listPageOptions } from '../core/fields.js';
import { set, state } from '../core/state.js';
import { languageTag } from '../core/language-tags.js';
import { languageName, t } from '../core/i18n.js';

const TOY = 'toy'; // translates only two sentences, so it is used only on request
const DEFAULT_BEAM = 4; // beam size of the second search if the first is greedy
/** Options that the second model takes from the visitor; others keep its own defaults. */
const changeableOptions = () => listPageOptions().filter((name) => name !== 'beam_size');

/** Compares tags, because models use two-letter codes, three-letter codes or names. */
const sameLanguage = (a, b) => Boolean(a && b) && languageTag(a) === languageTag(b);

/** Whether the two models translate in opposite directions. */
const isReverse = (model, other) =>
  sameLanguage(model.source, other.target) && sameLanguage(model.target, other.source) && !sameLanguage(model.source, model.target);

/** The bundled reverse model, if any. Never the toy. */
export function reverseModel({ models }, { model }) {
  return models.find((candidate) => candidate.name !== TOY && isReverse(candidate, model)) ?? null;
}

/** The second model: the chosen one, else the reverse model, else the first model with another beam. */
export function secondModelName(config, translation) {
  if (state.beside) return state.beside;
  return (translation.text.trim() && reverseModel(config, translation)?.name) || translation.model.name;
}

/** Info on the second model, preferably from its translation, because it may support several target languages. */
function secondModel(config, translation, second) {
  const name = secondModelName(config, translation);
  return second?.model.name === name ? second.model : (config.models.find((model) => model.name === name) ?? { name });
}

/**
 * Mode of the comparison: in `back` the second model translates the first one's output, in `same` it is the same model, in
 * `other` another one.
 */
export function comparisonMode(config, translation, second) {
  const model = secondModel(config, translation, second);
  if (model.name === translation.model.name) return 'same';
  return isReverse(model, translation.model) && translation.text.trim() ? 'back' : 'other';
}

/** Whether both models have the same target language, so that the first output can be forced on the second model. */
const sameTargetLanguage = (model, translation) => model.target === translation.model.target && translation.text.trim() !== '';

/**
 * The second request for the page's translation in the server's format. `second`: the second model's last translation.
 */
export function secondRequest(config, translation, second) {
  const query = translation.requestValues();
  const defaults = translation.model.defaults ?? {};
  const model = secondModel(config, translation, second);
  const back = comparisonMode(config, translation, second) === 'back';
  const request = { text: back ? translation.text : query.text, model: model.name };
  // Ignore the reverse weight for greedy search, because it has no effect.
  const names = changeableOptions().filter((name) => name !== 'back_weight' || query.beam_size > 1);
  for (const name of names) if (query[name] !== defaults[name]) request[name] = query[name];
  const beam =
    state.besideBeam ?? defaultBeam(config, translation, model) ?? (query.beam_size === defaults.beam_size ? null : query.beam_size);
  if (beam !== null && !(query.temperature > 0)) request.beam_size = Math.min(beam, config.beam);
  if (!back && state.besideSame && sameTargetLanguage(model, translation)) request.target = translation.text;
  return request;
}

/** Beam size of the second search if the model is compared with itself by default; else null. */
function defaultBeam(config, translation, model) {
  return state.beside || model.name !== translation.model.name ? null : otherBeamSize(config, translation);
}

/** Greedy if the page uses a beam, else a beam. */
const otherBeamSize = ({ beam }, translation) => (translation.requestValues().beam_size === 1 ? Math.min(DEFAULT_BEAM, beam) : 1);

/** "German → English", or the model's name if its languages are unknown. */
export const pairName = ({ name, source, target }) =>
  source && target ? t('beside_pair', { source: languageName(source), target: languageName(target) }) : name;

const searchName = (beam) => (beam === 1 ? t('beside_greedy') : t('beside_beam_of', { beam }));

/** The search settings of a translation. */
export function searchDescription({ request }) {
  if (typeof request.target === 'string') return t('beside_given');
  return request.options.temperature > 0 ? t('beside_sampled') : searchName(request.options.beam_size);
}

export class SecondModelChooser {
  constructor(config) {
    this.config = config;
    this.name = make('span', { class: 'quiet' });
    this.modes = make('div', { class: 'segments', role: 'group' });
    this.menu = make('select', { class: 'model', onchange: () => this.choose({ beside: this.menu.value }) });
    this.beam = make('select', { class: 'numeric', onchange: () => set({ besideBeam: Number(this.beam.value) }) });
    this.beamName = make('span', {});
    this.forceTarget = make('input', { type: 'checkbox', onchange: () => set({ besideSame: this.forceTarget.checked }) });
    this.forceTargetName = make('span', {});
    this.forceTargetLabel = make('label', { class: 'check' }, this.forceTarget, this.forceTargetName);
    this.more = make('span', { class: 'more' }, make('label', { class: 'check' }, this.beamName, this.beam), this.forceTargetLabel);
    this.note = make('p', { class: 'quiet note' });
    this.element = make('div', { class: 'choices' }, this.name, this.modes, this.menu, this.more);
  }

  choose(changes) {
    set({ besideBeam: null, besideSame: false, besideHead: null, ...changes });
  }

  draw(translation, second) {
    const mode = comparisonMode(this.config, translation, second);
    const back = reverseModel(this.config, translation);
    this.name.textContent = t('beside_compare_with');
    this.modes.setAttribute('aria-label', t('beside_compare_with'));
    const { activeElement } = document;
    const focused = activeElement instanceof HTMLElement && this.modes.contains(activeElement) ? activeElement.dataset.mode : null;
    const button = (name, description, changes) => {
      const attributes = {
        type: 'button',
        data: { mode: name },
        'aria-pressed': String(mode === name),
        onclick: () => this.choose(changes),
      };
      return make('button', attributes, description);
    };
    const search = otherBeamSize(this.config, translation);
    const sameModel = { beside: back ? translation.model.name : '', besideBeam: search };
    replace(
      this.modes,
      button('same', t('beside_same_model', { search: searchName(search) }), sameModel),
      back && button('back', t('beside_reads_back', { pair: pairName(back) }), { beside: '' }),
    );
    if (focused) this.modes.querySelector(`[data-mode=${focused}]`)?.focus({ preventScroll: true });
    this.drawOther(translation, second, mode);
    this.drawMore(translation, second, mode);
  }

  drawOther(translation, second, mode) {
    const selectedModel = secondModel(this.config, translation, second);
    const candidates = this.config.models.filter(
      ({ name }) => name !== translation.model.name && name !== reverseModel(this.config, translation)?.name,
    );
    const options =
      mode !== 'other' || candidates.some(({ name }) => name === selectedModel.name) ? candidates : [...candidates, selectedModel];
    const modelLabel = (model) => (model.source && model.target ? `${pairName(model)} · ${model.name}` : model.name);
    const option = (model) => make('option', { value: model.name }, modelLabel(model));
    replace(this.menu, make('option', { value: '', disabled: true }, t('beside_another')), ...options.map(option));
    this.menu.value = mode === 'other' ? selectedModel.name : '';
    this.menu.classList.toggle('chosen', mode === 'other');
    this.menu.setAttribute('aria-label', t('beside_another'));
    this.menu.hidden = !options.length;
  }

  drawMore(translation, second, mode) {
    const model = secondModel(this.config, translation, second);
    const query = secondRequest(this.config, translation, second);
    this.more.hidden = mode === 'back';
    const width = query.beam_size ?? (second?.model.name === model.name ? second.requestValues().beam_size : model.defaults?.beam_size);
    replace(this.beam, ...Array.from({ length: this.config.beam }, (_, number) => make('option', { value: number + 1 }, number + 1)));
    this.beam.value = width ?? '';
    this.beam.disabled = query.temperature > 0 || query.target !== undefined;
    this.beamName.textContent = t('beside_beam');
    this.forceTarget.checked = state.besideSame;
    this.forceTargetLabel.hidden = !sameTargetLanguage(model, translation);
    this.forceTargetName.textContent = t('beside_same');
    this.forceTargetLabel.title = t('beside_same_says');
    const hasOtherLanguage = mode === 'other' && differentLanguages(model.source, translation.model.source);
    this.note.hidden = !hasOtherLanguage;
    const languages = hasOtherLanguage && { reads: languageName(model.source), typed: languageName(translation.model.source) };
    this.note.textContent = hasOtherLanguage ? t('beside_foreign', { model: model.name, ...languages }) : '';
  }
}

/** Whether two codes are known to be different languages. */
function differentLanguages(first, second) {
  const [language, typed] = [first, second].map((code) => languageTag(code ?? '').split('-')[0]);
  return language.length === 2 && typed.length === 2 && language !== typed;
}
