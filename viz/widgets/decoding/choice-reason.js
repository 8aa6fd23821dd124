// Explains the search's choice: compared with the runner-up, in the words that differ, and with greedy search.

import { formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';

const MIN_DIFFERENCE = 0.00005; // smaller differences are invisible, since scores are shown with four decimals
const [MAX_WORDS, MAX_CHARACTERS] = [6, 12]; // of a part that differs; longer parts are truncated

/**
 * Texts {choice, greedy} that compare the chosen translation with the runner-up and with greedy search; null without a
 * finished translation.
 * @param {import('./search-tree.js').SearchTree} tree
 * @param {number[]} finished last nodes of the finished translations, the chosen one first
 * @param {(number | null)[]} backs back-translation score per finished translation; null if it has none
 * @param {number} weight weight of the back-translation score
 */
export function choiceReason(tree, finished, backs, weight) {
  const [best] = finished;
  return best === undefined ? null : { choice: compareWithOthers(tree, finished, backs, weight), greedy: compareWithGreedy(tree, best) };
}

/**
 * The part of each text in which they differ, by words if the first text has spaces, else by characters. If a part would be
 * empty, both include a neighbouring word or character.
 */
export function findDifference(text, otherText) {
  const isSpaced = text.includes(' ');
  const [firstUnits, secondUnits] = [text, otherText].map((string) => (isSpaced ? string.split(' ') : [...string]));
  const minLength = Math.min(firstUnits.length, secondUnits.length);
  let prefixLength = 0;
  while (prefixLength < minLength && firstUnits[prefixLength] === secondUnits[prefixLength]) prefixLength++;
  let suffixLength = 0;
  while (suffixLength < minLength - prefixLength && firstUnits.at(-1 - suffixLength) === secondUnits.at(-1 - suffixLength)) suffixLength++;
  if (prefixLength + suffixLength >= minLength && suffixLength > 0) suffixLength--;
  else if (prefixLength + suffixLength >= minLength && prefixLength > 0) prefixLength--;
  const difference = (units) => truncate(units.slice(prefixLength, units.length - suffixLength), isSpaced ? ' ' : '');
  return [difference(firstUnits), difference(secondUnits)];
}

function truncate(units, separator) {
  const limit = separator ? MAX_WORDS : MAX_CHARACTERS;
  return units.length > limit ? `${units.slice(0, limit).join(separator)}…` : units.join(separator);
}

function compareWithOthers(tree, finished, backs, weight) {
  const [best, second] = finished;
  if (second === undefined) return t('decoding_why_only');
  const score = (node) => tree.getFacts(node).score;
  const values = (rival, getScore) => {
    const [text, other] = findDifference(tree.getNode(best).text, tree.getNode(rival).text);
    return { text, other, best: formatSigned(getScore(best)), second: formatSigned(getScore(rival)) };
  };
  if (backs[0] === null) return t('decoding_why_score', values(second, score));
  const rival = finished.slice(1).reduce((a, b) => (score(b) > score(a) ? b : a));
  if (score(rival) > score(best) + MIN_DIFFERENCE) return t('decoding_why_reversed', values(rival, score));
  const totalScore = (node) => score(node) + weight * (backs[finished.indexOf(node)] ?? 0);
  return t('decoding_why_sum', values(second, totalScore));
}

/** Names the first token of the path where greedy search would have continued with another, more probable one. */
function compareWithGreedy(tree, best) {
  for (const node of tree.path(best)) {
    const parent = tree.parent(node);
    const greedyNode = parent === undefined ? tree.steps[0][0] : tree.child(parent);
    if (greedyNode === node) continue;
    const { step, label } = tree.getFacts(node);
    return t('decoding_why_not_greedy', { step: step + 1, token: label, other: tree.getFacts(greedyNode).label });
  }
  return t('decoding_why_greedy');
}
