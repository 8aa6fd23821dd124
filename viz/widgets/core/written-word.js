// The target token that the views explain, and its rival.

import { axes } from './map-view.js';

/**
 * Position of the target token to explain: the first token of the pinned row or, in the encoder, whose rows are source
 * words, the chosen token. Null: none.
 */
export function getWordPosition(translation, selection) {
  const { kind, row, word } = selection;
  const pinnedRow = kind === 'encoder' || row === null ? null : axes(translation, kind, selection).rows[row];
  return pinnedRow?.places[0] ?? word;
}

/** The selection with this token as the word: its row is pinned if the map of this kind has one. */
export function chooseWord(translation, selection, kind, word) {
  if (kind === 'encoder') return { word, ...(kind === selection.kind ? {} : { row: null, column: null }) };
  const row = axes(translation, kind, selection).rows.findIndex(({ places }) => places.includes(word));
  return { word, row: row < 0 ? null : row, column: null };
}

/** The name of the word at this position: the whole word if words are merged. */
export const wordLabel = (translation, { words }, position) =>
  axes(translation, 'cross', { words, special: true }).rows.find(({ places }) => places.includes(position)).label;

/** The rival chosen for the word at this position: {place, id}, with the ID null for none; null for the default. */
export const getChosenRival = ({ rival }, position) => (rival?.place === position ? rival : null);
