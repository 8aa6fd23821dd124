// Explains the search's choice in two sentences: compared with the runner-up, and with greedy search.

import { formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { LANGUAGES } from '../core/languages.js';
import { state } from '../core/state.js';

const MIN_DIFFERENCE = 0.00005; // smaller differences are invisible, since scores are shown with four decimals

/**
 * @param {import('./search-tree.js').SearchTree} tree
 * @param {number[]} finished last nodes of the finished translations, the chosen one first
 * @param {(number | null)[]} backs back-translation score per finished translation; null without a reverse model
 * @param {number} weight weight of the back-translation score
 */
export function choiceReason(tree, finished, backs, weight) {
  const [best] = finished;
  if (best === undefined) return '';
  return `${againstOthers(tree, finished, backs, weight)}${LANGUAGES[state.language].gap}${againstGreedy(tree, best)}`;
}

function againstOthers(tree, finished, backs, weight) {
  const [best, second] = finished;
  const text = tree.getNode(best).text;
  if (second === undefined) return t('decoding_why_only', { text });
  const score = (place) => tree.about(place).score;
  const values = (other, getNumber) => ({
    text,
    other: tree.getNode(other).text,
    best: formatSigned(getNumber(best)),
    second: formatSigned(getNumber(other)),
  });
  if (backs[0] === null) return t('decoding_why_score', values(second, score));
  const rival = finished.slice(1).reduce((one, other) => (score(other) > score(one) ? other : one));
  if (score(rival) > score(best) + MIN_DIFFERENCE) return t('decoding_why_reversed', values(rival, score));
  const total = (place) => score(place) + weight * (backs[finished.indexOf(place)] ?? 0);
  return t('decoding_why_sum', values(second, total));
}

/** Names the first token of the path that is not the most probable continuation, from which greedy search diverges. */
function againstGreedy(tree, best) {
  for (const place of tree.path(best)) {
    const parent = tree.parent(place);
    const first = parent === undefined ? tree.steps[0][0] : tree.child(parent);
    if (first === place) continue;
    const { step, label } = tree.about(place);
    return t('decoding_why_not_greedy', { step: step + 1, token: label, other: tree.about(first).label });
  }
  return t('decoding_why_greedy');
}
