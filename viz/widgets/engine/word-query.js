// The word of a translation that a call asks about, and its rival: `viz/service/word_query.py`.

import { Fault } from './fault.js';
import { requestChanges } from './replay.js';

const short = (value) => JSON.stringify(value)?.slice(0, 60) ?? String(value);

/** A whole number from 0 to `high`. */
export function checkInteger(name, value, high) {
  if (Number.isInteger(value) && value >= 0 && value <= high) return value;
  throw new Fault(name, 'not_whole', { name, low: 0, high, given: short(value) });
}

/** One of several names. */
export function checkChoice(name, value, choices) {
  if (choices.includes(value)) return value;
  throw new Fault(name, 'not_choice', { name, choices: choices.join(', '), given: short(value) });
}

/**
 * The model and the translation of a call, or null if it was stopped.
 * @param {import('./engine.js').Engine} engine
 * @param {any} values
 * @param {import('./translator.js').Control} control
 */
export async function loadTranslation(engine, values, control) {
  const { entry, request } = engine.check(values.request);
  const translation = await engine.translate(entry, request, control);
  return translation && { entry, translation, model: await engine.loader.load(entry.name) };
}

/** The same with the position of the word, its rival or null, and the changes of the request. */
export async function loadWord(engine, values, control) {
  const query = await loadTranslation(engine, values, control);
  if (!query) return null;
  const position = checkInteger('place', values.place, query.translation.target.length - 1);
  const most = query.model.config.target_vocabulary - 1;
  const rival = values.rival === null || values.rival === undefined ? null : checkInteger('rival', values.rival, most);
  return { ...query, position, rival, changes: await requestChanges(engine, query.model, query.translation) };
}
