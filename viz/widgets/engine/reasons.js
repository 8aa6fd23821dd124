// Reasons to doubt a translation, with the words concerned: the rules of `model/translate/evidence.py`.

import { omittedChineseWords } from './chinese-omissions.js';
import { overlapsOne } from './content-words.js';
import { identify } from './identification.js';
import { tables } from './tables.js';

/**
 * @typedef {import('./content-words.js').Word} Word
 * @typedef {import('./content-words.js').Span} Span
 * @typedef {import('./facts.js').Facts} Facts
 * @typedef {import('./facts.js').Reason} Reason
 */

const { max_unsure_words: maxUnsureWords, in_any_language: inAnyLanguage } = tables.evidence;

const span = ({ start, end }) => /** @type {Span} */ ([start, end]);

/** The words at some spans, each once. */
function joinWords(text, /** @type {Span[]} */ spans) {
  const characters = Array.from(text);
  return [...new Set(spans.map(([start, end]) => characters.slice(start, end).join('')))].join(', ');
}

/** Spans by their words; a group is left out if each of its words is in another reason. */
function listOmissions(/** @type {Span[][]} */ groups, /** @type {Span[]} */ explained, characters) {
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
function listSpellings(/** @type {[Word, Word][]} */ pairs) {
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

/** The spans of each group of words that the translation leaves out. @returns {Span[][]} */
function omittedSpans(/** @type {Facts} */ { sentence, language, read, attention, omitted, back }) {
  if (language !== 'zh') return omitted.map((group) => group.map(span));
  return omittedChineseWords(sentence, read, attention, back).map((each) => [each]);
}

/**
 * Words that are unlikely and that no other reason explains.
 * @param {Facts} facts
 * @param {Span[]} explained
 */
function listGuesses({ doubtful, writtenNumbers, differing }, explained) {
  // A number on both sides can be written in several ways, so a low probability does not make it a guess.
  const matched = writtenNumbers.filter((each) => each.required && !differing[1].includes(each)).map(span);
  return doubtful.filter(({ start, end }) => !overlapsOne(start, end, [...explained, ...matched])).slice(0, maxUnsureWords);
}

/**
 * All reasons, the most severe first.
 * @param {any} translation
 * @param {Facts} facts
 * @returns {Reason[]}
 */
export function findReasons(translation, facts) {
  const { sentence, text, differing, runs } = facts;
  const reason = (kind, /** @type {Span[]} */ sourceSpans = [], /** @type {Span[]} */ targetSpans = []) => ({
    ...{ kind, source_spans: sourceSpans, target_spans: targetSpans },
    ...{ source: joinWords(translation.sourceText, sourceSpans), target: joinWords(text, targetSpans) },
  });
  const characters = Array.from(sentence);
  const language = identify(sentence);
  const isOther = language !== null && language !== facts.language;
  /** @type {Reason[]} */
  const reasons = isOther ? [{ ...reason('language', [[0, characters.length]]), source: language }] : [];
  if (translation.stopped === 'length') reasons.push(reason('unfinished'));
  reasons.push(...runs.map((run) => reason('loop', [], [run])));
  if (differing.flat().length) reasons.push(reason('numbers', differing[0].map(span), differing[1].map(span)));
  const names = listSpellings(facts.misspelt).map(([read, written]) => reason('name', read, written));
  const explained = [...reasons, ...names].filter(({ kind }) => kind !== 'language').flatMap((each) => each.source_spans);
  reasons.push(...listOmissions(omittedSpans(facts), explained, characters).map((places) => reason('left_out', places)), ...names);
  reasons.push(...facts.copied.map((word) => reason('copied', [], [span(word)])));
  const repeated = facts.repeated.filter(({ start, end }) => !overlapsOne(start, end, runs));
  reasons.push(...repeated.map((word) => reason('repeated', [], [span(word)])));
  const unlikely = listGuesses(
    facts,
    reasons.flatMap((each) => each.target_spans),
  );
  reasons.push(...unlikely.map((word) => reason('unsure', [], [span(word)])));
  return isOther ? reasons.filter(({ kind }) => inAnyLanguage.includes(kind)) : reasons; // the others follow from it
}
