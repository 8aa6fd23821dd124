// Features and reasons for the reliability of a translation: the rules of `model/translate/evidence.py`.

import { chrf } from './chrf.js';
import { omittedChineseWords } from './chinese-omissions.js';
import { adaptText } from './cleaning.js';
import { contentWords, foldCase, logProbability, overlapsOne, stemWord } from './content-words.js';
import { copiedWords, misspeltPairs, omittedWords, repeatedWords } from './doubtful-words.js';
import { identify } from './identification.js';
import { findNumbers, unmatchedNumbers } from './numbers.js';
import { compile } from './patterns.js';
import { repeatedRuns, repeatsItself } from './repetition.js';
import { tables } from './tables.js';

/**
 * @typedef {import('./content-words.js').Word} Word
 * @typedef {import('./content-words.js').Span} Span
 * @typedef {{ text: string, tokens: import('./translator.js').WrittenToken[] }} BackTranslation `tokens` of the sentence, with their
 *   probabilities given the translation
 * @typedef {{ kind: string, source_spans: Span[], target_spans: Span[], source: string, target: string }} Reason
 * @typedef {{ source: string, target: string, usualLength: number }} Usual two letters of both languages, and the usual log ratio of
 *   characters
 */

const rules = tables.evidence;
const WORD = compile(rules.word, 'g');
const MAX_COUNT = 3;

const atMostThree = (count) => Math.min(MAX_COUNT, count);
const atLeast = (number) => Math.max(rules.min_log_probability, number);
const span = ({ start, end }) => /** @type {Span} */ ([start, end]);
const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / Math.max(1, numbers.length);
const ascending = (numbers) => numbers.sort((one, other) => one - other);
const joined = (text, /** @type {Span[]} */ spans) => {
  const characters = Array.from(text);
  return [...new Set(spans.map(([start, end]) => characters.slice(start, end).join('')))].join(', ');
};

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
  rows.reduce((most, row) => Math.max(most, tokens.reduce((sum, token) => sum + row[token], 0)), 0); // biome-ignore format: one line

/** How sharply the translation attends. A model that invents attends diffusely. */
function sharpness(/** @type {Float64Array[]} */ rows) {
  const written = rows.slice(0, -1); // without the end
  if (!written.length) return { peak: 1, to_end: 0 };
  return { peak: mean(written.map((row) => Math.max(...row))), to_end: mean(written.map((row) => row[row.length - 1])) };
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
function loops(source, target, text) {
  const [read, written] = [source, target].map((words) => words.map(({ start, end, ...word }) => ({ text: foldCase(word.text), start, end })));
  return repeatsItself(read) ? [] : repeatedRuns(written, text);
}

/** Whether the back-translation has these words. */
function isInBackTranslation(/** @type {Word[]} */ group, back, language) {
  if (language === 'zh') return group.every(({ text }) => Array.from(text).every((character) => back.has(character)));
  return group.every(({ text }) => [...text.matchAll(WORD)].every(([part]) => back.has(stemWord(part))));
}

/** Spans by their words; a group is left out if each of its words is in another reason. */
function omissions(/** @type {Span[][]} */ groups, /** @type {Span[]} */ explained, characters) {
  /** @type {Map<string, Span[]>} */
  const places = new Map();
  for (const group of groups) {
    if (group.every(([start, end]) => overlapsOne(start, end, explained))) continue;
    const [start, end] = [group[0][0], group[group.length - 1][1]];
    const words = characters.slice(start, end).join('');
    places.set(words, [...(places.get(words) ?? []), [start, end]]);
  }
  return [...places.values()];
}

/** Names with their different spellings, each with all its places. */
function spellings(/** @type {[Word, Word][]} */ pairs) {
  /** @type {Map<string, [Map<string, Span>, Map<string, Span>]>} */
  const places = new Map();
  for (const pair of pairs) {
    const key = JSON.stringify(pair.map(({ text }) => text));
    const sides = places.get(key) ?? [new Map(), new Map()];
    places.set(key, /** @type {[Map<string, Span>, Map<string, Span>]} */ (sides));
    pair.forEach((word, side) => sides[side].set(String(span(word)), span(word)));
  }
  const sorted = (side) => [...side.values()].sort(([one], [other]) => one - other);
  return [...places.values()].map(([source, target]) => [sorted(source), sorted(target)]);
}

/**
 * Collects the features of a translation and the reasons to doubt it, the most severe first.
 * @param {any} translation
 * @param {Usual} usual
 * @param {BackTranslation | null} back
 * @returns {{ features: Record<string, number>, reasons: Reason[] }}
 */
export function collectEvidence(translation, { source, target, usualLength }, back) {
  const sentence = adaptText(translation.sourceText, source).read;
  const { text } = translation;
  const [read, written] = [contentWords(translation.source, sentence), contentWords(translation.target, text)];
  const attention = meanAttention(translation);
  const coverage = read.map(({ tokens }) => highestWeight(attention, tokens));
  const [readNumbers, writtenNumbers] = [findNumbers(sentence, source), findNumbers(text, target)];
  const differing = unmatchedNumbers(readNumbers, writtenNumbers);
  const misspelt = misspeltPairs(read, written);
  const copied = source === target ? [] : copiedWords(read, written);
  const repeated = repeatedWords(read, written);
  const doubtful = written
    .filter((word) => word.logProbability < rules.unsure_below)
    .sort((one, other) => one.logProbability - other.logProbability);
  const omitted = omittedWords(read, coverage, source);
  const tokenScores = translation.target.map(({ probability }) => logProbability(probability ?? 0));
  const wordScores = ascending(written.map((word) => word.logProbability));
  const [length, sourceLength] = [text, sentence].map((words) => Array.from(words).length);
  /** @type {Record<string, number>} */
  const features = {
    mean: mean(tokenScores),
    worst_token: atLeast(tokenScores.reduce((least, score) => Math.min(least, score), 0)),
    worst_word: atLeast(wordScores[0] ?? 0),
    second_word: atLeast(wordScores[Math.min(1, wordScores.length - 1)] ?? 0),
    unseen: mean(coverage.map((weight) => Number(weight < rules.attended_from))),
    left_out: atMostThree(omitted.flat().length),
    least_seen: coverage.length ? Math.min(...coverage) : 1,
    numbers: atMostThree(differing.flat().length),
    names: atMostThree(misspelt.length),
    length: Math.abs(Math.log((length + 1) / (sourceLength + 1)) - usualLength),
    rare: mean(read.map(({ tokens }) => Number(tokens.length > 2))),
    ...sharpness(attention),
    invented: doubtful.filter(({ tokens }) => tokens.length > 2).length / Math.max(1, written.length),
    copied: atMostThree(copied.length),
    repeated: atMostThree(repeated.length),
    words: Math.log(Math.max(1, read.length)),
  };
  let groups = omitted;
  if (back) {
    const unmatched = unmatchedNumbers(readNumbers, findNumbers(back.text, source));
    const backWords = new Set(source === 'zh' ? back.text : [...back.text.matchAll(WORD)].map(([word]) => stemWord(word)));
    groups = omitted.filter((group) => !isInBackTranslation(group, backWords, source));
    Object.assign(features, { back: chrf(back.text, sentence) / 100, back_numbers: atMostThree(unmatched.flat().length) });
    Object.assign(features, reverseFeatures(back.tokens, sentence), { left_out: atMostThree(groups.flat().length) });
  }
  // ------------------------------------------------------------ reasons
  const reason = (kind, /** @type {Span[]} */ sourceSpans = [], /** @type {Span[]} */ targetSpans = []) => ({
    ...{ kind, source_spans: sourceSpans, target_spans: targetSpans },
    ...{ source: joined(translation.sourceText, sourceSpans), target: joined(text, targetSpans) },
  });
  const language = identify(sentence);
  const isOther = language !== null && language !== source;
  const runs = loops(read, written, text);
  /** @type {Reason[]} */
  let reasons = isOther ? [{ ...reason('language', [[0, sourceLength]]), source: language }] : [];
  if (translation.stopped === 'length') reasons.push(reason('unfinished'));
  reasons.push(...runs.map((run) => reason('loop', [], [run])));
  if (differing.flat().length) reasons.push(reason('numbers', differing[0].map(span), differing[1].map(span)));
  const names = spellings(misspelt).map(([readSpans, writtenSpans]) => reason('name', readSpans, writtenSpans));
  const explained = [...reasons, ...names].filter(({ kind }) => kind !== 'language').flatMap((each) => each.source_spans);
  const attended = (tokens) => highestWeight(attention, tokens);
  const spans =
    source === 'zh'
      ? omittedChineseWords(sentence, read, attended, attention.length ? back : null).map((each) => [each])
      : groups.map((group) => group.map(span));
  reasons.push(...omissions(spans, explained, Array.from(sentence)).map((places) => reason('left_out', places)), ...names);
  reasons.push(...copied.map((word) => reason('copied', [], [span(word)])));
  const isInRun = ({ start, end }) => overlapsOne(start, end, runs);
  reasons.push(...repeated.filter((word) => !isInRun(word)).map((word) => reason('repeated', [], [span(word)])));
  // A number on both sides can be written in several ways, so a low probability does not make it a guess.
  const matched = writtenNumbers.filter((each) => each.required && !differing[1].includes(each)).map(span);
  const certain = [...reasons.flatMap((each) => each.target_spans), ...matched];
  const guesses = doubtful.filter(({ start, end }) => !overlapsOne(start, end, certain));
  reasons.push(...guesses.slice(0, rules.max_unsure_words).map((word) => reason('unsure', [], [span(word)])));
  if (isOther) reasons = reasons.filter(({ kind }) => rules.in_any_language.includes(kind)); // the others follow from it
  return { features, reasons };
}
