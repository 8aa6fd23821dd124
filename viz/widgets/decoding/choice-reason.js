// Explains the search's choice: compared with the runner-up, in the words that differ, and with greedy search.

import { formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';

const MIN_DIFFERENCE = 0.00005; // smaller differences are invisible, since scores are shown with four decimals
const [MAX_WORDS, MAX_LETTERS] = [6, 12]; // maximum length of a part that differs

/**
 * The comparison with the runner-up and the one with greedy search; null without a finished translation.
 * @param {import('./search-tree.js').SearchTree} tree
 * @param {number[]} finished last nodes of the finished translations, the chosen one first
 * @param {(number | null)[]} backs back-translation score per finished translation; null without a reverse model
 * @param {number} weight weight of the back-translation score
 */
export function choiceReason(tree, finished, backs, weight) {
  const [best] = finished;
  return best === undefined ? null : { choice: againstOthers(tree, finished, backs, weight), greedy: againstGreedy(tree, best) };
}

/** The parts in which two texts differ, by words if they have spaces. If a part would be empty, both include a neighbouring word. */
export function differingParts(text, otherText) {
  const isSpaced = text.includes(' ');
  const [firstParts, secondParts] = [text, otherText].map((item) => (isSpaced ? item.split(' ') : [...item]));
  const minLength = Math.min(firstParts.length, secondParts.length);
  let start = 0;
  while (start < minLength && firstParts[start] === secondParts[start]) start++;
  let end = 0;
  while (end < minLength - start && firstParts.at(-1 - end) === secondParts.at(-1 - end)) end++;
  if (start + end >= minLength && end > 0) end--;
  else if (start + end >= minLength && start > 0) start--;
  const part = (units) => shorten(units.slice(start, units.length - end), isSpaced ? ' ' : '');
  return [part(firstParts), part(secondParts)];
}

function shorten(units, gap) {
  const limit = gap ? MAX_WORDS : MAX_LETTERS;
  return units.length > limit ? `${units.slice(0, limit).join(gap)}…` : units.join(gap);
}

function againstOthers(tree, finished, backs, weight) {
  const [best, second] = finished;
  if (second === undefined) return t('decoding_why_only');
  const score = (position) => tree.getFacts(position).score;
  const values = (rival, getNumber) => {
    const [text, other] = differingParts(tree.getNode(best).text, tree.getNode(rival).text);
    return { text, other, best: formatSigned(getNumber(best)), second: formatSigned(getNumber(rival)) };
  };
  if (backs[0] === null) return t('decoding_why_score', values(second, score));
  const rival = finished.slice(1).reduce((a, b) => (score(b) > score(a) ? b : a));
  if (score(rival) > score(best) + MIN_DIFFERENCE) return t('decoding_why_reversed', values(rival, score));
  const total = (index) => score(index) + weight * (backs[finished.indexOf(index)] ?? 0);
  return t('decoding_why_sum', values(second, total));
}

/** Names the first token of the path that is not the most probable continuation, from which greedy search diverges. */
function againstGreedy(tree, best) {
  for (const index of tree.path(best)) {
    const parent = tree.parent(index);
    const first = parent === undefined ? tree.steps[0][0] : tree.child(parent);
    if (first === index) continue;
    const { step, label } = tree.getFacts(index);
    return t('decoding_why_not_greedy', { step: step + 1, token: label, other: tree.getFacts(first).label });
  }
  return t('decoding_why_greedy');
}
