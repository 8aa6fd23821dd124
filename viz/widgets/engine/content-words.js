// Words of a sentence with their positions and probabilities, for the evidence about a translation (`model/translate/evidence.py`).

import { hasLetterOrDigit, isSpace, strip } from './characters.js';
import { tables } from './tables.js';

const FOLDS = new Map(Object.entries(tables.folds));
const { stem_letters: STEM_LETTERS, min_probability: MIN_PROBABILITY } = tables.evidence;

/**
 * @typedef {{ text: string, start: number, end: number, tokens: number[], logProbability: number }} Word positions count code points;
 *   `tokens`: their indices; the log probability is that of all tokens together, 0 in the source
 * @typedef {[number, number]} Span start and end
 */

export const logProbability = (probability) => Math.log(Math.max(probability, MIN_PROBABILITY));

/** A text for comparisons without case, as `str.casefold` returns it. */
export const foldCase = (text) => Array.from(text, (letter) => FOLDS.get(letter) ?? letter.toLowerCase()).join('');

/** The first letters of a word, without case. */
export const stemWord = (word) => Array.from(foldCase(word)).slice(0, STEM_LETTERS).join('');

export const countLetters = (text) => Array.from(text).length;

/** Whether a text begins with a capital letter. */
export const isCapitalised = (text) => /^\p{Uppercase}/u.test(text);

/** Whether a text has small letters and no others. */
export const isLowerCase = (text) => /\p{Lowercase}/u.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text);

/** Whether one of the spans overlaps this one. */
export const overlapsOne = (start, end, /** @type {Span[]} */ spans) => spans.some(([from, to]) => start < to && from < end);

/**
 * The words of a sentence that have a letter or a digit.
 * @param {import('./translator.js').WrittenToken[]} tokens
 * @param {string} text
 * @returns {Word[]}
 */
export function contentWords(tokens, text) {
  const characters = Array.from(text);
  /** @type {Map<number, number[]>} */
  const indices = new Map();
  tokens.forEach(({ word }, index) => {
    if (word !== null) indices.set(word, [...(indices.get(word) ?? []), index]);
  });
  return [...indices.values()].flatMap((own) => {
    let { start } = tokens[own[0]];
    const { end } = tokens[own[own.length - 1]];
    const letters = characters.slice(start, end);
    if (!hasLetterOrDigit(letters.join(''))) return [];
    while (isSpace(characters[start])) start++;
    const sum = own.reduce((total, index) => total + logProbability(tokens[index].probability || 1), 0);
    return [{ text: strip(letters.join('')), start, end, tokens: own, logProbability: sum }];
  });
}
