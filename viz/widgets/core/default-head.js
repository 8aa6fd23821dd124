// Which head of cross-attention one begins with, and which heads are read one word late. Of a translation the server says both
// (`model/translate/opening.py`); of attention from elsewhere, the head that tells most is looked for here.

import { argMax } from './map-view.js';

const LETTER_PATTERN = /[\p{L}\p{N}]/u;

/** Whether a token has letters or digits: no sign of the model's own, and no punctuation. */
export const isWord = ({ special, label }) => !special && LETTER_PATTERN.test(label);

/** The head to begin with. */
export function defaultHead(translation) {
  const { opening } = translation;
  return opening ? { layer: opening.layer, head: opening.head } : mostInformativeHead(translation);
}

/** The token whose row one begins with at this head; null where it is another than the one to begin with. */
export function openingRow({ opening }, { kind, layer, head }) {
  return opening && kind === 'cross' && opening.layer === layer && opening.head === head ? opening.row : null;
}

/** Whether a row of this head tells of the word above it: the head remembers what was just translated. */
export function isShiftedHead({ late }, { kind, layer, head }) {
  return kind === 'cross' && Boolean(late?.some((place) => place[0] === layer && place[1] === head));
}

/** The head that aligns words best, with the row that tells of a word; null where that was not measured. */
export function aligningHead(translation) {
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
  const best = argMax(scores);
  return { layer: Math.floor(best / translation.heads('cross')), head: best % translation.heads('cross') };
}

function coverage(map, rows, columns) {
  const most = (column) => rows.reduce((all, row) => Math.max(all, map.weights[row * map.columns + column]), 0);
  return columns.reduce((all, column) => all + most(column), 0) / Math.max(1, Math.min(rows.length, columns.length));
}
