// Features and reasons for the reliability of a translation: the rules of `model/translate/evidence.py`.

import { chrf } from './chrf.js';
import { adaptText } from './cleaning.js';
import { contentWords, foldCase, logProbability, stemWord } from './content-words.js';
import { copiedWords, misspeltPairs, omittedWords, repeatedWords } from './doubtful-words.js';
import { findNumbers, unmatchedNumbers } from './numbers.js';
import { compile } from './patterns.js';
import { findReasons } from './reasons.js';
import { repeatedRuns, repeatsItself } from './repetition.js';
import { respell } from './respelling.js';
import { tables } from './tables.js';

/**
 * @typedef {import('./content-words.js').Word} Word
 * @typedef {import('./content-words.js').Span} Span
 * @typedef {import('./facts.js').BackTranslation} BackTranslation
 * @typedef {import('./facts.js').Reason} Reason
 * @typedef {import('./facts.js').Facts} Facts
 * @typedef {import('./numbers.js').NumberSpan[]} Numbers
 * @typedef {{ source: string, target: string, usualLength: number }} Usual two letters of both languages, and the usual log ratio of
 *   characters
 */

const rules = tables.evidence;
const WORD = compile(rules.word, 'g');
const MAX_COUNT = 3;

const atMostThree = (count) => Math.min(MAX_COUNT, count);
const atLeast = (number) => Math.max(rules.min_log_probability, number);
const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / Math.max(1, numbers.length);
const ascending = (numbers) => numbers.sort((one, other) => one - other);

/** Cross-attention in the mean of all heads, [target][source]. */
function meanAttention({ maps, heads, source, target }) {
  const columns = source.length;
  return target.map((_, row) => {
    const sums = new Float64Array(columns);
    for (const layer of maps.cross) {
      for (let head = 0; head < heads; head++) {
        const at = (head * target.length + row) * columns;
        for (let column = 0; column < columns; column++) sums[column] += layer[at + column];
      }
    }
    return sums.map((sum) => sum / (maps.cross.length * heads));
  });
}

/** The highest weight that tokens get together from a target token. */
const highestWeight = (/** @type {Float64Array[]} */ rows, tokens) =>
  rows.map((row) => tokens.reduce((sum, token) => sum + row[token], 0)).reduce((most, weight) => Math.max(most, weight), 0);

/** Means of the highest weight and of the weight on the end, over target tokens. A model that invents attends diffusely. */
function measureSharpness(/** @type {Float64Array[]} */ rows) {
  const words = rows.slice(0, -1); // without the end
  if (!words.length) return { peak: 1, to_end: 0 };
  return { peak: mean(words.map((row) => Math.max(...row))), to_end: mean(words.map((row) => row[row.length - 1])) };
}

/** Features of the reverse model. A word that was left out has a low reverse probability. */
function reverseFeatures(tokens, text) {
  const tokenScores = tokens.map(({ probability }) => logProbability(probability ?? 0));
  const words = ascending(contentWords(tokens, text).map((word) => word.logProbability));
  return {
    recovered: mean(tokenScores),
    least_recovered: atLeast(words[0] ?? 0),
    second_recovered: atLeast(words[Math.min(1, words.length - 1)] ?? 0),
  };
}

/** Runs that the translation repeats at once, unless the source repeats a word, too. */
function findLoops(source, target, text) {
  const [read, written] = [source, target].map((words) =>
    words.map(({ start, end, ...word }) => ({ text: foldCase(word.text), start, end })),
  );
  return repeatsItself(read) ? [] : repeatedRuns(written, text);
}

/** Groups of words that the back-translation lacks, too. */
function omittedInBoth(/** @type {Word[][]} */ omitted, /** @type {BackTranslation} */ back, language) {
  const stems = (text) => [...text.matchAll(WORD)].map(([word]) => stemWord(word));
  const words = new Set(language === 'zh' ? back.text : stems(back.text));
  const parts = ({ text }) => (language === 'zh' ? Array.from(text) : stems(respell(text, back.text, language)));
  return omitted.filter((group) => !group.every((word) => parts(word).every((part) => words.has(part))));
}

/** @returns {Facts} */
function gatherFacts(translation, /** @type {Usual} */ { source, target }, back) {
  const sentence = adaptText(translation.sourceText, source).read;
  const { text } = translation;
  const [read, written] = [contentWords(translation.source, sentence), contentWords(translation.target, text)];
  const rows = meanAttention(translation);
  const attention = (tokens) => highestWeight(rows, tokens);
  const coverage = read.map(({ tokens }) => attention(tokens));
  const [readNumbers, writtenNumbers] = [findNumbers(sentence, source), findNumbers(text, target)];
  const omitted = omittedWords(read, coverage, source);
  return {
    ...{ sentence, text, language: source, read, written, writtenNumbers, rows, attention, coverage, back },
    differing: unmatchedNumbers(readNumbers, writtenNumbers),
    misspelt: misspeltPairs(read, written),
    copied: source === target ? [] : copiedWords(read, written),
    repeated: repeatedWords(read, written),
    runs: findLoops(read, written, text),
    doubtful: written
      .filter((word) => word.logProbability < rules.unsure_below)
      .sort((one, other) => one.logProbability - other.logProbability),
    omitted: back ? omittedInBoth(omitted, back, source) : omitted,
  };
}

/** Features of the translation by name. @returns {Record<string, number>} */
function findFeatures(translation, /** @type {Facts} */ facts, usualLength) {
  const { read, written, coverage, doubtful } = facts;
  const tokenScores = translation.target.map(({ probability }) => logProbability(probability ?? 0));
  const wordScores = ascending(written.map((word) => word.logProbability));
  const [length, sentenceLength] = [facts.text, facts.sentence].map((words) => Array.from(words).length);
  return {
    mean: mean(tokenScores),
    worst_token: atLeast(tokenScores.reduce((least, score) => Math.min(least, score), 0)),
    worst_word: atLeast(wordScores[0] ?? 0),
    second_word: atLeast(wordScores[Math.min(1, wordScores.length - 1)] ?? 0),
    unseen: mean(coverage.map((weight) => Number(weight < rules.attended_from))),
    left_out: atMostThree(facts.omitted.flat().length),
    least_seen: coverage.reduce((least, weight) => Math.min(least, weight), coverage[0] ?? 1),
    numbers: atMostThree(facts.differing.flat().length),
    names: atMostThree(facts.misspelt.length),
    length: Math.abs(Math.log((length + 1) / (sentenceLength + 1)) - usualLength),
    rare: mean(read.map(({ tokens }) => Number(tokens.length > 2))),
    ...measureSharpness(facts.rows),
    invented: doubtful.filter(({ tokens }) => tokens.length > 2).length / Math.max(1, written.length),
    copied: atMostThree(facts.copied.length),
    repeated: atMostThree(facts.repeated.length),
    words: Math.log(Math.max(1, read.length)),
  };
}

/** Features of the back-translation by name. @returns {Record<string, number>} */
function backFeatures(/** @type {Facts} */ { language }, /** @type {BackTranslation} */ back) {
  const { sentence } = back;
  const unmatched = unmatchedNumbers(findNumbers(sentence, language), findNumbers(back.text, language));
  return {
    back: chrf(back.text, sentence) / 100,
    back_numbers: atMostThree(unmatched.flat().length),
    ...reverseFeatures(back.tokens, sentence),
  };
}

/**
 * Collects the features of a translation and the reasons to doubt it, the most severe first.
 * @param {any} translation
 * @param {Usual} usual
 * @param {BackTranslation | null} back
 * @returns {{ features: Record<string, number>, reasons: Reason[] }}
 */
export function collectEvidence(translation, usual, back) {
  const facts = gatherFacts(translation, usual, back);
  const features = { ...findFeatures(translation, facts, usual.usualLength), ...(back ? backFeatures(facts, back) : {}) };
  return { features, reasons: findReasons(translation, facts) };
}
