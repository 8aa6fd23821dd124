// Words of a Chinese sentence that its translation leaves out: the rules of `model/translate/chinese_omissions.py`.

import { logProbability } from './content-words.js';
import { tables } from './tables.js';

/** @typedef {{ start: number, end: number, tokens: number[] }} ChineseWord */

const { unexpected_below: unexpectedBelow, attended_from: attendedFrom, determiners, classifiers } = tables.evidence;
const WITHOUT_COUNTERPART = new Set(tables.evidence.without_counterpart);

/** Whether a translation into English needs a word for this Chinese word. */
function hasCounterpart(/** @type {string[]} */ characters) {
  if (WITHOUT_COUNTERPART.has(characters.join('')) || !characters.every((character) => /^[\u4e00-\u9fff]$/.test(character))) return false;
  const [last] = characters.slice(-1);
  return !(classifiers.includes(last) && characters.slice(0, -1).every((character) => determiners.includes(character)));
}

/** Joins neighbouring single characters, which the vocabulary lacks as a word: 旅 + 途. */
function joinCharacters(characters, /** @type {ChineseWord[]} */ pieces) {
  /** @type {ChineseWord[]} */
  const words = [];
  let isJoinable = false; // whether the last word has only single characters that may belong to a longer word
  for (const { start, end, tokens } of pieces) {
    const isSingle = end - start === 1 && hasCounterpart(characters.slice(start, end));
    const last = words.at(-1);
    if (isSingle && isJoinable && last?.end === start) {
      words[words.length - 1] = { start: last.start, end, tokens: [...last.tokens, ...tokens] };
    } else words.push({ start, end, tokens });
    isJoinable = isSingle;
  }
  return words;
}

/**
 * The positions of the words that the translation leaves out; neighbours are one position.
 * @param {string} text the sentence
 * @param {ChineseWord[]} pieces its sub-words
 * @param {(tokens: number[]) => number} attention the highest weight that tokens get together
 * @param {import('./facts.js').BackTranslation | null} back
 */
export function omittedChineseWords(text, pieces, attention, back) {
  if (!back) return [];
  const characters = Array.from(text);
  /** @type {[number, number][]} */
  const spans = [];
  for (const { start, end, tokens } of joinCharacters(characters, pieces)) {
    const word = characters.slice(start, end);
    if (!hasCounterpart(word) || word.some((character) => back.text.includes(character))) continue;
    if (attention(tokens) >= attendedFrom) continue;
    const own = back.tokens.filter((token) => token.probability !== undefined && token.start < end && start < token.end);
    const least = own.reduce((lowest, { probability }) => Math.min(lowest, /** @type {number} */ (probability)), 1);
    if (logProbability(least) >= unexpectedBelow) continue;
    const last = spans.at(-1);
    if (last?.[1] === start) last[1] = end;
    else spans.push([start, end]);
  }
  return spans;
}
