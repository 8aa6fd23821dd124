// Respelling of a carelessly typed sentence after its back-translation: the rules of `model/text/respelling.py`.

import { hasLetterOrDigit } from './characters.js';
import { foldCase, isCapitalised, isLowerCase } from './content-words.js';
import { compile } from './patterns.js';
import { tables } from './tables.js';

const { digraphs, bases, ends, full_width: fullWidth, min_slip_letters: minSlipLetters } = tables.respelling;
const CHINESE_ENDS = Array.from(tables.respelling.chinese_ends);
const [WORD, CHINESE_GAP, AFTER_CHINESE] = ['word', 'chinese_gap', 'after_chinese'].map((name) => compile(tables.respelling[name], 'g'));
const ENGLISH_I = new RegExp(`^(?:${tables.respelling.english_i[0]})$`, 'u');

const last = (text) => Array.from(text).at(-1) ?? '';
const first = (text) => Array.from(text)[0] ?? '';
const rest = (text) => Array.from(text).slice(1).join('');
const capitalise = (text) => first(text).toUpperCase() + rest(text);
const exchange = (text, table) => Array.from(text, (letter) => table[letter] ?? letter).join('');

/** A word without case and apostrophes. */
const fold = (word) => foldCase(word).replace(/['’]/g, '');

/** A word as it may be typed: as it is, with `ae` for `ä`, or with `a`. */
const spellKeys = (word) => [word, exchange(word, digraphs), exchange(word, bases)].map(fold);

/** Whether a word is another one with two letters swapped, one doubled, or one lost inside. */
export function isSlip(/** @type {string} */ text, /** @type {string} */ usualText) {
  const [word, usual] = [Array.from(text), Array.from(usualText)];
  if (usual.length < minSlipLetters || word[0] !== usual[0]) return false;
  const length = Math.min(word.length, usual.length);
  const place = word.slice(0, length).findIndex((letter, index) => letter !== usual[index]);
  const after = (letters, from) => letters.slice(from).join('');
  if (place < 0) return text === usualText + usual[usual.length - 1];
  if (word.length === usual.length) {
    const isSwapped = word[place] === usual[place + 1] && word[place + 1] === usual[place];
    return isSwapped && after(word, place + 2) === after(usual, place + 2);
  }
  if (word.length === usual.length + 1) return word[place] === word[place - 1] && after(word, place + 1) === after(usual, place);
  return word.length === usual.length - 1 && after(word, place) === after(usual, place + 1);
}

/** Each word as the same word of the back-translation, with a capital at the start if that has one. */
function respellWords(sentence, back, language) {
  const words = back.match(WORD) ?? [];
  const exact = new Set(words);
  /** @type {Map<string, string>} */
  const spellings = new Map();
  for (const [place, word] of words.entries()) {
    const spelling = place ? word : first(word).toLowerCase() + rest(word);
    for (const key of spellKeys(word)) if (!spellings.has(key)) spellings.set(key, spelling);
  }
  const spell = (word) => {
    if (exact.has(word)) return word;
    if (language === 'en' && ENGLISH_I.test(word)) return `I${rest(word)}`;
    const key = fold(word);
    const spelling = spellings.get(key) ?? word;
    if (isLowerCase(word)) {
      const usual = [...spellings.keys()].find((other) => isSlip(key, other)) ?? '';
      return spelling === word ? (spellings.get(usual) ?? word) : spelling;
    }
    // A word with a capital may be a name that the translation misspells; its case is right.
    return word.toLowerCase() === spelling.toLowerCase() ? word : capitalise(spelling);
  };
  const text = sentence.replace(WORD, spell);
  return isCapitalised(back) ? capitalise(text) : text;
}

/**
 * A sentence in the spelling of its back-translation.
 * @param {string} sentence as the model read it
 * @param {string} back its back-translation
 * @param {string} language two letters, of both
 */
export function respell(sentence, back, language) {
  const text =
    language === 'zh'
      ? sentence.replace(AFTER_CHINESE, (mark) => fullWidth[mark]).replace(CHINESE_GAP, '，')
      : respellWords(sentence, back, language);
  return hasLetterOrDigit(last(text)) && ends.includes(last(back)) ? text + last(back) : text;
}

/** Whether a sentence is typed as in a chat: it begins with a small letter, or has no mark at its end. */
export function isCareless(/** @type {string} */ sentence, language) {
  if (language === 'zh') return !CHINESE_ENDS.includes(last(sentence));
  return isLowerCase(first(sentence)) || hasLetterOrDigit(last(sentence));
}
