// Classes of characters, as Python's `unicodedata` and `str` have them. Positions count code points.

import { tables } from './tables.js';

// biome-ignore lint/suspicious/noControlCharactersInRegex: Python counts these separators as white space
const SPACE = /^[\p{White_Space}\x1c-\x1f]$/u;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;
const CATEGORIES = ['Mn', 'Mc', 'Me', 'Cf', 'Cc', 'Cs', 'Co', 'Cn', 'Zl', 'Zp', 'Zs', 'Lo', 'Lm', 'Nl', 'So', 'Sk', 'Sm', 'Sc', 'Nd', 'No'];
const PATTERNS = CATEGORIES.map((name) => /** @type {const} */ ([name, new RegExp(`^\\p{${name}}$`, 'u')]));
const MAJOR = ['L', 'P'].map((name) => /** @type {const} */ ([name, new RegExp(`^\\p{${name}}$`, 'u')]));
/** @type {Map<string, string>} */
const categories = new Map();

/** The Unicode category of a character: 'Mn', 'Lo', …; 'L' and 'P' stand for all other letters and punctuation. */
export function category(character) {
  let name = categories.get(character);
  if (name === undefined) {
    name = [...PATTERNS, ...MAJOR].find(([, pattern]) => pattern.test(character))?.[0] ?? 'Cs';
    categories.set(character, name);
  }
  return name;
}

/** Whether a code point is in one of the ranges, whose ends are included. */
export const isInRanges = (code, ranges) => ranges.some(([low, high]) => low <= code && code <= high);

const codePoint = (character) => character.codePointAt(0) ?? 0;

export const isSpace = (character) => SPACE.test(character);

/** Whether a text is not empty and has only white space. */
export const isBlankText = (text) => text !== '' && Array.from(text).every(isSpace);

/** Whether a text has a letter or a digit. */
export const hasLetterOrDigit = (text) => LETTER_OR_DIGIT.test(text);

export const isDigit = (character) => isInRanges(codePoint(character), tables.digits);

export const isMark = (character) => ['Mn', 'Mc', 'Me'].includes(category(character));

export const isEastAsian = (character) => isInRanges(codePoint(character), tables.squares);

/** Whether a character takes two columns of a terminal. */
export const isWide = (character) => isInRanges(codePoint(character), tables.wide);

/** Removes white space at both ends, as `str.strip` does. */
export function strip(text) {
  const letters = Array.from(text);
  let [start, end] = [0, letters.length];
  while (start < end && isSpace(letters[start])) start++;
  while (end > start && isSpace(letters[end - 1])) end--;
  return letters.slice(start, end).join('');
}

/** The words between white space, as `str.split` returns them. */
export function splitWords(text) {
  const words = [];
  let word = '';
  for (const character of text) {
    if (!isSpace(character)) word += character;
    else if (word) {
      words.push(word);
      word = '';
    }
  }
  return word ? [...words, word] : words;
}
