// Which two models: a menu for each, and how the second one writes.

import { make, replace } from '../core/dom.js';
import { pageOptions } from '../core/fields.js';
import { set, state } from '../core/state.js';
import { languageTag } from '../core/tags.js';
import { languageName, t } from '../core/words.js';

const TOY = 'toy'; // knows two sentences: it is used only where it is named
const WIDER = 4; // the beam beside a greedy search
/** Options that the second model takes over where the visitor changed them; the others are its own defaults. */
const changeable = () => pageOptions().filter((name) => name !== 'beam_size');

/** The second model: the chosen one, else another that reads the same language and best writes the same, else the first one. Never the toy. */
export function secondName({ models }, { model }) {
  if (state.beside) return state.beside;
  const others = models.filter(({ name }) => name !== model.name && name !== TOY);
  const reads = others.filter(({ source }) => same(source, model.source));
  const any = others.find(({ source }) => !source); // one of many languages
  return (reads.find(({ target }) => same(target, model.target)) ?? reads[0] ?? any ?? model).name;
}

/** Models write a language in two letters, in three, or as a word. */
const same = (one, other) => languageTag(one) === languageTag(other);

/** What is known of the second model: most from a translation of its own, as it may write several languages. */
function secondModel(config, translation, second) {
  const name = secondName(config, translation);
  return second?.model.name === name ? second.model : (config.models.find((each) => each.name === name) ?? { name });
}

/** Whether the second model may be given what the first one wrote. */
const writesAlike = (model, translation) => model.target === translation.model.target && translation.text.trim() !== '';

/** The second request for the page's translation, as the server takes it. `second`: the last translation of the second model. */
export function secondRequest(config, translation, second) {
  const asked = translation.asked();
  const defaults = translation.model.defaults ?? {};
  const model = secondModel(config, translation, second);
  const request = { text: asked.text, model: model.name };
  for (const name of changeable()) if (asked[name] !== defaults[name]) request[name] = asked[name];
  const beam =
    state.besideBeam ?? otherBeam(config, translation, model) ?? (asked.beam_size === defaults.beam_size ? null : asked.beam_size);
  if (beam !== null && !(asked.temperature > 0)) request.beam_size = Math.min(beam, config.beam);
  if (state.besideSame && writesAlike(model, translation)) request.target = translation.text;
  return request;
}

/** Where no other model reads the sentence, the same one searches otherwise: greedily, or with a beam. */
function otherBeam(config, translation, model) {
  if (state.beside || model.name !== translation.model.name) return null;
  return translation.asked().beam_size === 1 ? Math.min(WIDER, config.beam) : 1;
}

export class SecondModel {
  constructor(config, sides) {
    this.config = config;
    const ask = (model) => dispatchEvent(new CustomEvent('headlight-request', { detail: { model, prefix: null, target: null } }));
    this.first = make('select', { class: 'model', onchange: () => ask(this.first.value) });
    this.second = make('select', { class: 'model', onchange: () => set({ beside: this.second.value, besideHead: null }) });
    this.beam = make('select', { class: 'numeric', onchange: () => set({ besideBeam: Number(this.beam.value) }) });
    this.beamName = make('span', {});
    this.same = make('input', { type: 'checkbox', onchange: () => set({ besideSame: this.same.checked }) });
    this.sameName = make('span', {});
    this.sameLabel = make('label', { class: 'check' }, this.same, this.sameName);
    this.note = make('p', { class: 'quiet' });
    sides[0].controls.append(this.first);
    sides[1].controls.append(this.second, make('span', { class: 'end' }, make('label', {}, this.beamName, this.beam), this.sameLabel));
    sides[1].controls.after(this.note);
  }

  draw(translation, answered) {
    const { models, beam } = this.config;
    const model = secondModel(this.config, translation, answered);
    const second = model.name;
    const known = models.some(({ name }) => name === translation.model.name) ? models : [...models, translation.model];
    const called = ({ name, source, target }) =>
      source && target ? t('model_pair', { source: languageName(source), target: languageName(target), name }) : name;
    const option = (each) => make('option', { value: each.name }, called(each));
    for (const [menu, chosen, name] of [
      [this.first, translation.model.name, 'beside_left'],
      [this.second, second, 'beside_right'],
    ]) {
      const listed = known.some((each) => each.name === chosen)
        ? known.map(option)
        : [...known.map(option), make('option', { value: chosen }, chosen)];
      replace(menu, ...listed);
      menu.value = chosen;
      menu.setAttribute('aria-label', t(name));
    }
    const asked = secondRequest(this.config, translation, answered);
    const width = asked.beam_size ?? (answered?.model.name === second ? answered.asked().beam_size : model.defaults?.beam_size);
    replace(this.beam, ...Array.from({ length: beam }, (_, number) => make('option', { value: number + 1 }, number + 1)));
    this.beam.value = width ?? '';
    this.beam.disabled = asked.temperature > 0 || asked.target !== undefined;
    this.beamName.textContent = t('beside_beam');
    this.same.checked = state.besideSame;
    this.sameLabel.hidden = !writesAlike(model, translation);
    this.sameName.textContent = t('beside_same');
    this.sameLabel.title = t('beside_same_says');
    const foreign = isForeign(model.source, translation.model.source);
    this.note.hidden = !foreign;
    this.note.textContent = foreign
      ? t('beside_foreign', { model: second, reads: languageName(model.source), typed: languageName(translation.model.source) })
      : '';
  }
}

/** Whether two codes surely mean two languages. */
function isForeign(one, other) {
  const [language, typed] = [one, other].map((code) => languageTag(code ?? '').split('-')[0]);
  return language.length === 2 && typed.length === 2 && language !== typed;
}
