// A hint that the sentence is probably in another language, with models of the page that read it: `viz/service/language_hints.py`.

import { identify } from './identification.js';
import { tables } from './tables.js';

/**
 * @typedef {import('./loader.js').SiteModel} SiteModel
 */

/**
 * Detects a sentence in a language that the model does not read. Models that translate into the model's language come first.
 * @param {string} text
 * @param {SiteModel} model
 * @param {SiteModel[]} others models of the page
 * @returns {import('messages').LanguageHint | null}
 */
export function languageHint(text, model, others) {
  const { source, target } = model.languages;
  const detected = identify(text);
  if (!detected || !source || detected === source) return null;
  const rank = ({ languages, name }) => [Number(languages.target !== source), Number(languages.target !== target), name];
  const candidates = others.filter(
    ({ name, languages }) => name !== model.name && name !== tables.toy && languages.target && languages.source === detected,
  );
  return {
    language: detected,
    reads: model.answer_model.source,
    offers: candidates.sort((one, other) => compareLanguages(rank(one), rank(other))).map(offer),
  };
}

const offer = ({ name, answer_model: { source, target } }) => ({ model: name, source_language: '', source, target });

/** Compares two lists of equal length, as Python does. */
function compareLanguages(one, other) {
  const index = one.findIndex((value, place) => value !== other[place]);
  return index < 0 ? 0 : one[index] < other[index] ? -1 : 1;
}
