// Which head of cross-attention tells most of a sentence: the one whose rows point, each at a word of its own.

import { strongest } from './view.js';

const LETTER = /[\p{L}\p{N}]/u;

/** The head to begin with: the one that is measured to align words, else the most telling one of this very answer. */
export function bestHead(answer) {
  const { best_head: measured } = answer.model;
  const within = measured && measured.layer < answer.layers('cross') && measured.head < answer.heads('cross');
  return within ? measured : tellingHead(answer);
}

/**
 * Of each source word the most that a written word gives it, summed, over the number of words that could have been met.
 * A head that rests on one token, or spreads, scores little; one that finds every word scores one.
 */
export function tellingHead(answer) {
  const words = (tokens) => tokens.flatMap(({ special, label }, place) => (!special && LETTER.test(label) ? [place] : []));
  const [rows, columns] = [words(answer.target), words(answer.source)];
  const scores = [];
  for (let layer = 0; layer < answer.layers('cross'); layer++) {
    for (let head = 0; head < answer.heads('cross'); head++) scores.push(coverage(answer.map('cross', layer, head), rows, columns));
  }
  if (!scores.length) return null;
  const best = strongest(scores);
  return { layer: Math.floor(best / answer.heads('cross')), head: best % answer.heads('cross') };
}

function coverage(map, rows, columns) {
  const most = (column) => rows.reduce((all, row) => Math.max(all, map.weights[row * map.columns + column]), 0);
  return columns.reduce((all, column) => all + most(column), 0) / Math.max(1, Math.min(rows.length, columns.length));
}
