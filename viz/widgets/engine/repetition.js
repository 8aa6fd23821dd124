// Runs that a translation repeats at once, as small models do: the rules of `model/translate/repetition.py`.

import { strip } from './characters.js';
import { tables } from './tables.js';

/** @typedef {{ text: string, start: number, end: number }} WordPosition a word of a text, folded */

const isHan = (character) => /^[\u4e00-\u9fff]$/.test(character);
const hasLetter = (text) => /\p{L}/u.test(text);

/** A Chinese word as its characters: the vocabulary may cut two repetitions differently. @returns {WordPosition[]} */
function splitWord(/** @type {WordPosition} */ word) {
  const characters = Array.from(word.text);
  if (!characters.some(isHan)) return [word];
  return characters.map((text, index) => ({ text, start: word.start + index, end: word.start + index + 1 }));
}

/**
 * The positions of words that are repeated at once, with all their repetitions.
 * @param {WordPosition[]} words
 * @param {string} text
 * @returns {[number, number][]}
 */
export function repeatedRuns(words, text) {
  const units = words.flatMap(splitWord);
  const characters = Array.from(text);
  /** @type {[number, number][]} */
  const results = [];
  for (let index = 0; index < units.length; ) {
    const longest = longestRun(units, index, characters);
    if (longest) results.push([units[index].start, units[index + longest - 1].end]);
    index += Math.max(1, longest);
  }
  return results;
}

/** The number of units of the longest repetition from an index, or 0. */
function longestRun(units, index, characters) {
  const texts = units.slice(index).map((unit) => unit.text);
  let longest = 0;
  for (let size = 1; size <= Math.min(tables.evidence.max_unit, Math.floor(texts.length / 2)); size++) {
    const unit = texts.slice(0, size);
    let times = 1;
    while ((times + 1) * size <= texts.length && unit.every((part, at) => texts[times * size + at] === part)) times++;
    const isShort = size === 1 || (size === 2 && unit.every(isHan));
    const border = strip(characters.slice(units[index + size - 1].end, units[index + size].start).join(''));
    if (times >= (isShort || border ? 3 : 2) && unit.some(hasLetter)) longest = Math.max(longest, times * size);
  }
  return longest;
}

/** Whether a text repeats a word at once, or with one word between: "deeper and deeper", 哈哈哈. */
export function repeatsItself(/** @type {WordPosition[]} */ words) {
  const texts = words.flatMap(splitWord).map(({ text }) => text);
  return texts.some((text, index) => (text === texts[index + 1] || text === texts[index + 2]) && hasLetter(text));
}
