// Cleaning of the sentence, and its adaptation to what our models learned from: `model/text/cleaning.py`, `adaptation.py`.

import { category, hasLetterOrDigit, isSpace, splitWords, strip } from './characters.js';
import { tables } from './tables.js';

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed
const INVISIBLE = /[\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f\u00ad\u200b\u2060\ufeff]/g;
const PICTURE = '[\\u{1f1e6}-\\u{1f1ff}\\u{1f300}-\\u{1faff}\\u2600-\\u27bf\\u2b50\\u2b55\\u231a\\u231b\\u23e9-\\u23f3]';
const EMOJI = `${PICTURE}(?:[\\ufe0e\\ufe0f\\u200d\\u20e3\\u{e0020}-\\u{e007f}]|${PICTURE})*`;
const EMOJI_RUN = new RegExp(`\\s*${EMOJI}(?:\\s*${EMOJI})*\\s*`, 'gu');
const PARTICLE = /(?<![名顯显原專专土卓昭編编巨論论譯译遺遗合所])著(?![名作者稱称述錄录])/g;
const [TRADITIONAL, SIMPLE] = [Array.from(tables.chinese.traditional), Array.from(tables.chinese.simplified)];
const SIMPLIFIED = new Map(TRADITIONAL.map((letter, index) => [letter, SIMPLE[index]]));
const WORD = '[\\p{L}\\p{N}_]';
const SENTENCE_START = /(?:^|[.!?…]\s+)(?:(?!\p{L})[\s\S])*?(\p{L})/gu;
const CAPITAL_WORDS = /\p{L}{2,}/gu;
const ENGLISH_I = new RegExp(`(?<!${WORD})I(?!${WORD})`, 'gu');

/** Whether a text has only white space, control characters and joiners. */
export const isBlank = (text) => Array.from(text).every((character) => isSpace(character) || ['Cc', 'Cf'].includes(category(character)));

/** A text as one line in composed form, without invisible characters. */
export const cleanText = (text) => splitWords(text.replace(INVISIBLE, '').normalize('NFC')).join(' ');

/** A cleaned text without emoji, or the text itself if it has nothing else. */
export function removeEmoji(text) {
  const isAscii = (character) => character === '' || character < '\u0080';
  const without = strip(
    text.replace(EMOJI_RUN, (run, offset) => {
      const before = Array.from(text.slice(0, offset)).at(-1) ?? '';
      const after = Array.from(text.slice(offset + run.length))[0] ?? '';
      const isSpaced = run !== strip(run) || (isAscii(before) && isAscii(after));
      return before && isSpaced && hasLetterOrDigit(after) ? ' ' : '';
    }),
  );
  return hasLetterOrDigit(without) ? without : text;
}

/** Whether a text of several words has capital letters only. */
function isInCapitals(text) {
  const letters = text.match(/\p{L}/gu) ?? [];
  const isUpper = (letter) => /\p{Lu}/u.test(letter);
  if (!letters.every(isUpper)) return false;
  const words = text.match(CAPITAL_WORDS) ?? [];
  const { words: minWords, letters: minLetters } = tables.capitals;
  return words.length >= minWords && words.reduce((sum, word) => sum + Array.from(word).length, 0) >= minLetters;
}

function toSentence(text, language) {
  const starts = new Set();
  for (const match of text.matchAll(SENTENCE_START)) starts.add(match.index + match[0].length - match[1].length);
  if (language === 'en') for (const match of text.matchAll(ENGLISH_I)) starts.add(match.index);
  let at = 0;
  return Array.from(text, (letter) => {
    const lower = letter.toLowerCase();
    const result = starts.has(at) || Array.from(lower).length !== 1 ? letter : lower;
    at += letter.length;
    return result;
  }).join('');
}

/**
 * A text as a model of this language reads it, with as many characters.
 * @param {string} text
 * @param {string} language two letters
 * @returns {{ original: string, read: string, changes: string[] }}
 */
export function adaptText(text, language) {
  const { ambiguous } = tables.chinese;
  const letters = Array.from(text);
  if (language === 'zh' && letters.some((letter) => SIMPLIFIED.has(letter) && !ambiguous.includes(letter))) {
    const read = Array.from(text.replace(PARTICLE, '着'), (letter) => SIMPLIFIED.get(letter) ?? letter).join('');
    return { original: text, read, changes: ['simplified'] };
  }
  if (isInCapitals(text)) return { original: text, read: toSentence(text, language), changes: ['capitals'] };
  return { original: text, read: text, changes: [] };
}
