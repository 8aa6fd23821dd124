// Words of a translation that are misspelt, copied or repeated, and words of the sentence without attention: rules of
// `model/translate/evidence.py`.

import { countLetters, foldCase, isCapitalised, isLowerCase, stemWord } from './content-words.js';
import { frequentWords } from './identification.js';
import { tables } from './tables.js';
import { matchingBlocks } from './word-diff.js';

/** @typedef {import('./content-words.js').Word} Word */

const rules = tables.evidence;

const isLong = ({ text }) => countLetters(text) >= rules.short_word_letters;

/** The similarity of two texts from 0 to 1, as the `ratio` of Python's `difflib.SequenceMatcher`. */
function measureSimilarity(one, other) {
  const [first, second] = [Array.from(one), Array.from(other)];
  const matches = matchingBlocks(first, second).reduce((sum, { size }) => sum + size, 0);
  return first.length + second.length ? (2 * matches) / (first.length + second.length) : 1;
}

/**
 * Pairs of capitalised words of the sentence and unlikely words that resemble them but are not equal.
 * @param {Word[]} source
 * @param {Word[]} target
 * @returns {[Word, Word][]}
 */
export function misspeltPairs(source, target) {
  const names = source.slice(1).filter((word) => isCapitalised(word.text) && isLong(word));
  const texts = new Set(source.map(({ text }) => foldCase(text)));
  const isDoubtful = (/** @type {Word} */ word) =>
    word.logProbability <= rules.doubtful_name_below && !texts.has(foldCase(word.text)) && isLong(word) && isCapitalised(word.text);
  const doubtful = target.slice(1).filter(isDoubtful); // the first word is always capitalised
  return doubtful.flatMap((word) => {
    /** @type {{ name: Word | null, ratio: number }} */
    let best = { name: null, ratio: 0 };
    for (const name of names) {
      const ratio = measureSimilarity(name.text, word.text);
      if (ratio > best.ratio) best = { name, ratio };
    }
    return best.name && best.ratio >= rules.similar_from ? [/** @type {[Word, Word]} */ ([best.name, word])] : [];
  });
}

/** Lower-case words of the translation that are copied from the sentence. */
export function copiedWords(/** @type {Word[]} */ source, /** @type {Word[]} */ target) {
  const texts = new Set(source.filter((word) => isLowerCase(word.text) && isLong(word)).map(({ text }) => text));
  return target.filter((word) => texts.has(word.text) && word.logProbability < rules.doubtful_copy_below);
}

/** Words that occur more often in the translation than any word occurs in the sentence. */
export function repeatedWords(/** @type {Word[]} */ source, /** @type {Word[]} */ target) {
  const count = (/** @type {Map<string, number>} */ counts, word) => {
    const stem = stemWord(word.text);
    const times = (counts.get(stem) ?? 0) + 1;
    counts.set(stem, times);
    return times;
  };
  const counts = new Map();
  const allowed = source.filter(isLong).reduce((most, word) => Math.max(most, count(counts, word)), 1);
  const targetCounts = new Map();
  return target.filter((word) => isLong(word) && count(targetCounts, word) > allowed);
}

/** Groups of neighbouring words with hardly any attention. Groups that consist of frequent words only are not reported. */
export function omittedWords(/** @type {Word[]} */ words, coverage, language) {
  /** @type {Word[][]} */
  const groups = [];
  let last = -2;
  words.forEach((word, index) => {
    if (coverage[index] >= rules.attended_from) return;
    if (index === last + 1) groups[groups.length - 1].push(word);
    else groups.push([word]);
    last = index;
  });
  const common = frequentWords(language);
  return groups.filter((group) => group.some(({ text }) => !common.has(text.toLowerCase())));
}
