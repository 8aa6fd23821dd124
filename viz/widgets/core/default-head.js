// The default head of cross-attention, and heads that are shifted by one row. For translations the server determines
// both (`model/translate/opening.py`); for other recordings the most informative head is computed here.

import { argMax } from './map-view.js';

const LETTER_PATTERN = /[\p{L}\p{N}]/u;

/** Whether a token has letters or digits, so it is not a special token or punctuation. */
export const isWord = ({ special, label }) => !special && LETTER_PATTERN.test(label);

/** The head that is shown first: the server's choice, else the most informative one. */
export function defaultHead(translation) {
  const { opening } = translation;
  return opening ? { layer: opening.layer, head: opening.head } : findMostInformativeHead(translation);
}

/** Position of the initial row's token if this is the default head, else null. */
export function getOpeningRow({ opening }, { kind, layer, head }) {
  return opening && kind === 'cross' && opening.layer === layer && opening.head === head ? opening.row : null;
}

/** Whether each row of this head attends to the source of its input word, which is written one row above. */
export function isShiftedHead({ late }, { kind, layer, head }) {
  return kind === 'cross' && Boolean(late?.some(([lateLayer, lateHead]) => lateLayer === layer && lateHead === head));
}

/** The head with the best word alignment and its row shift, or null if it was not measured. */
export function getAligningHead(translation) {
  const { best_head: measured } = translation.model;
  const isInRange = measured && measured.layer < translation.layers('cross') && measured.head < translation.heads('cross');
  return isInRange ? measured : null;
}

/**
 * The head with the highest coverage: the largest weight that each source word gets from a target word, summed over
 * source words and divided by the number of possible pairs. Uniform heads and heads that attend to one token score low;
 * a head that aligns every word scores one.
 */
export function findMostInformativeHead(translation) {
  const wordPositions = (tokens) => tokens.flatMap((token, index) => (isWord(token) ? [index] : []));
  const [rows, columns] = [wordPositions(translation.target), wordPositions(translation.source)];
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
  const columnMaximum = (column) => rows.reduce((all, row) => Math.max(all, map.weights[row * map.columns + column]), 0);
  return columns.reduce((all, column) => all + columnMaximum(column), 0) / Math.max(1, Math.min(rows.length, columns.length));
}
