// Which head of cross-attention tells most of a sentence: the one whose rows point, each at a word of its own.

import { strongest } from './view.js';

const LETTER = /[\p{L}\p{N}]/u;

/** Whether a token has letters or digits: no sign of the model's own, and no punctuation. */
export const isWord = ({ special, label }) => !special && LETTER.test(label);

/** The head to begin with: the one that is measured to align words, else the most informative one for this translation. */
export function bestHead(translation) {
  const measured = measuredHead(translation);
  return measured ? { layer: measured.layer, head: measured.head } : mostInformativeHead(translation);
}

/** Whether a row of this head tells of the word above it: measured, the head looks at what it has just translated. */
export function isRowAfter(translation, { kind, layer, head }) {
  const measured = kind === 'cross' ? measuredHead(translation) : null;
  return Boolean(measured?.shift && measured.layer === layer && measured.head === head);
}

function measuredHead(translation) {
  const { best_head: measured } = translation.model;
  const within = measured && measured.layer < translation.layers('cross') && measured.head < translation.heads('cross');
  return within ? measured : null;
}

/**
 * Of each source word the most that a written word gives it, summed, over the number of words that could have been met.
 * A head that rests on one token, or spreads, scores little; one that finds every word scores one.
 */
export function mostInformativeHead(translation) {
  const words = (tokens) => tokens.flatMap((token, place) => (isWord(token) ? [place] : []));
  const [rows, columns] = [words(translation.target), words(translation.source)];
  const scores = [];
  for (let layer = 0; layer < translation.layers('cross'); layer++) {
    for (let head = 0; head < translation.heads('cross'); head++)
      scores.push(coverage(translation.map('cross', layer, head), rows, columns));
  }
  if (!scores.length) return null;
  const best = strongest(scores);
  return { layer: Math.floor(best / translation.heads('cross')), head: best % translation.heads('cross') };
}

function coverage(map, rows, columns) {
  const most = (column) => rows.reduce((all, row) => Math.max(all, map.weights[row * map.columns + column]), 0);
  return columns.reduce((all, column) => all + most(column), 0) / Math.max(1, Math.min(rows.length, columns.length));
}
