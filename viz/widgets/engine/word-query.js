// The word of a translation that a call asks about, and its rival: `viz/service/word_query.py`.

import { Fault } from './fault.js';
import { wordLabel } from './labels.js';
import { requestChanges } from './replay.js';
import { checkText, abbreviate } from './requests.js';

export const isNone = (value) => value === null || value === undefined;
const BYTES = /^(⟨[0-9A-F]{2}⟩)+$/; // the label of a token that is a part of a character

/** A whole number from 0 to `high`. */
export function checkInteger(name, value, high) {
  if (Number.isInteger(value) && value >= 0 && value <= high) return value;
  throw new Fault(name, 'not_whole', { name, low: 0, high, given: abbreviate(value) });
}

/** One of several names. */
export function checkChoice(name, value, choices) {
  if (choices.includes(value)) return value;
  throw new Fault(name, 'not_choice', { name, choices: choices.join(', '), given: abbreviate(value) });
}

/**
 * The model and the translation of a call, or null if it was stopped.
 * @param {import('./engine.js').Engine} engine
 * @param {any} values
 * @param {import('./translator.js').Control} control
 * @param {(request: any) => any} [adapt] changes the request
 */
export async function loadTranslation(engine, values, control, adapt = (request) => request) {
  const { entry, request } = engine.check(values.request);
  const translation = await engine.translate(entry, adapt(request), control);
  return translation && { entry, translation, model: await engine.loader.load(entry.name) };
}

/** The same with the position of the word, its rival or null, and the changes of the request. */
export async function loadWord(engine, values, control) {
  const query = await loadTranslation(engine, values, control);
  if (!query) return null;
  const position = checkInteger('place', values.place, query.translation.target.length - 1);
  const most = query.model.config.target_vocabulary - 1;
  const rival = isNone(values.rival) ? null : checkInteger('rival', values.rival, most);
  return { ...query, position, rival, changes: await requestChanges(engine, query.model, query.translation) };
}

/** The ID and the label of a rival for the page. */
export const rivalValues = ({ targetTokenizer }, rival) =>
  rival === null ? null : { id: rival, label: wordLabel(targetTokenizer.label(rival)) };

/** The ID of a text that must be one token and another than `word`. */
function findRival(tokenizer, text, word) {
  const ids = text ? tokenizer.encode(text) : [];
  if (!ids.length) throw new Fault('rival', 'empty_rival');
  const labels = ids.map((id) => tokenizer.label(id).trim());
  if (labels.some((label) => BYTES.test(label))) throw new Fault('rival', 'unknown_rival', { given: text });
  if (ids.length > 1) {
    const tokens = labels.filter(Boolean).join(' + ');
    throw new Fault('rival', 'rival_in_pieces', { given: text, count: ids.length, tokens });
  }
  if (ids[0] === word.id) throw new Fault('rival', 'rival_is_word', { given: abbreviate(word.text.trim()) });
  return ids[0];
}

/** Call: the token of the vocabulary that a visitor typed as a rival of a word. */
export async function nameRival(engine, values, control) {
  const query = await loadWord(engine, { ...values, rival: null }, control);
  if (!query) return null;
  const text = checkText('rival', values.rival, engine.limits.characters).trim();
  return rivalValues(query.model, findRival(query.model.targetTokenizer, text, query.translation.target[query.position]));
}
