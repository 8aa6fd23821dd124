// Reliability of a translation as text: one of three grades, and reasons that the visitor can check.

import { make, fillElements } from '../core/dom.js';
import { languageName, t } from '../core/i18n.js';

const GRADES = { right: 'reliable_right', check: 'reliable_check', doubt: 'reliable_doubt' };
const MAX_REASONS = 3; // maximum number of displayed reasons
const LAST_REASONS = ['unsure']; // listed after all other reasons
const SHADED = ['left_out', 'numbers', 'name']; // reasons whose source words are shaded

/**
 * The line below a translation: grade, probability and reasons. Empty if the translation has no grade. `isPending`:
 * whether the back-translation, which changes the probability, is still running.
 */
export function makeReliabilityLine(reliability, isPending) {
  if (!reliability?.grade) return [];
  const { grade, probability } = reliability;
  const measured = probability === null ? null : t('reliable_about', { right: Math.round(100 * probability) });
  const text = isPending ? t('reliable_pending') : measured;
  const items = listShownReasons(reliability).map((reason) => make('span', { class: 'reason' }, ...makeReason(reason)));
  const hasOnlyGrade = !items.length && grade !== 'right' && probability !== null;
  if (hasOnlyGrade) items.push(make('span', { class: 'reason' }, t('reliable_whole')));
  const verdict = make('b', { class: 'grade', data: { grade } }, t(GRADES[grade]));
  return [verdict, ...(text ? [' ', make('span', { class: 'of-100' }, text)] : []), ...items.flatMap((reason) => [' · ', reason])];
}

/** Spans `[start, end]` of the sentence that the reasons refer to, by ascending start. */
export function listShadedSpans(reliability) {
  if (!reliability?.grade || reliability.grade === 'right') return [];
  const spans = listShownReasons(reliability).flatMap((reason) => (SHADED.includes(reason.kind) ? reason.source_spans : []));
  return spans.sort(([firstStart], [secondStart]) => firstStart - secondStart);
}

/** Whether a back-translation has the words of the sentence, in order, as `is_word_for_word` in Python compares them. */
export function isWordForWord(sentence, back) {
  const words = (text) =>
    (
      text
        .normalize('NFKC')
        .toLowerCase()
        .match(/[\p{L}\p{N}]+/gu) ?? []
    ).join(' ');
  const sentenceWords = words(sentence);
  return sentenceWords !== '' && sentenceWords === words(back);
}

function listShownReasons({ grade, reasons }) {
  if (grade === 'right') return [];
  const isLast = ({ kind }) => LAST_REASONS.includes(kind);
  return [...reasons.filter((reason) => !isLast(reason)), ...reasons.filter(isLast)].slice(0, MAX_REASONS);
}

function makeReason({ kind, source, target }) {
  const words = (text) => make('bdi', {}, text || t('reason_nothing'));
  if (kind === 'language') return [t('reason_language', { words: languageName(source) })];
  return fillElements(t(`reason_${kind}`), { source: words(source), target: words(target), words: words(source || target) });
}
