// Reading back: a model of the opposite direction translates a translation, and scores the sentence given it
// (`model/translate/back_translation.py`).

import { adaptText, isBlank } from './cleaning.js';
import { Fault } from './fault.js';
import { checkRequest, prepareSource, targetIds } from './requests.js';
import { respell } from './respelling.js';
import { logSoftmax } from './search.js';
import { tables } from './tables.js';
import { translate } from './translator.js';

/** The reverse model reads what the other model wrote, so only its own limit applies. */
const NO_LIMITS = { characters: Infinity, tokens: Infinity };

/** The ids of a text for a reverse model, and of the sentence as its translation. Null: it is blank or too long. */
function reverseIds(reverse, sentence, text) {
  const { config, sourceTokenizer, targetTokenizer, languages } = reverse;
  if (isBlank(text)) return null;
  try {
    const words = adaptText(sentence, languages.target).read; // as the other model read it
    const target = targetIds('target', words, targetTokenizer, languages.target, config.max_length);
    const source = prepareSource({ text, interventions: [] }, sourceTokenizer, languages.source).tokens.map(({ id }) => id);
    return target && source.length <= config.max_length ? { source, target } : null;
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}

/**
 * The tokens of a sentence with their probabilities given a translation. Null: the translation is blank or too long.
 * @param {import('./translator.js').Model} reverse
 * @param {string} sentence
 * @param {string} text its translation
 */
export function scoreSentence(reverse, sentence, text) {
  const ids = reverseIds(reverse, sentence, text);
  if (!ids) return null;
  const { config, transformer, targetTokenizer } = reverse;
  const inputs = [config.start_id, ...ids.target.slice(0, -1)];
  const memory = transformer.projectMemory(transformer.encode(ids.source, null).vectors);
  const { states } = transformer.decode([{ ids: inputs, caches: transformer.newCaches(inputs.length) }], memory, null);
  /** @type {import('./translator.js').WrittenToken[]} */
  const tokens = targetTokenizer.tokens(ids.target);
  let logProbability = 0;
  transformer.logits(states, (logits, row) => {
    const own = logSoftmax(logits)[ids.target[row]];
    logProbability += own;
    tokens[row] = { ...tokens[row], probability: Math.exp(own) };
  });
  return { tokens, logProbability };
}

/**
 * The back-translation of a translation, or null if its text is blank or too long. Undefined if it was stopped.
 * @param {import('./translator.js').Model} reverse
 * @param {any} translation
 * @param {import('./translator.js').Control} control
 * @returns {Promise<import('./facts.js').BackTranslation | null | undefined>}
 */
export async function backTranslate(reverse, { sourceText, text }, control) {
  const { languages } = reverse;
  if (!reverseIds(reverse, sourceText, text)) return null;
  const request = checkRequest({ text, ...tables.back_translation }, {}, reverse.config, NO_LIMITS);
  const back = await translate(reverse, request, NO_LIMITS, { ...control, onToken: undefined });
  if (!back) return undefined;
  await control.pause?.();
  const sentence = adaptText(sourceText, languages.target).read;
  const spelt = respell(sentence, back.text, languages.target);
  const readable = reverseIds(reverse, spelt, text) ? spelt : sentence;
  const score = scoreSentence(reverse, readable, text);
  return score && { text: back.text, tokens: score.tokens, sentence: readable };
}
