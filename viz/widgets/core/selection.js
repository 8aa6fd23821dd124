// Initial row, and remapping of the selection to another kind or to whole words.

import { getAligningHead, defaultHead, isShiftedHead, isWord, getOpeningRow } from './default-head.js';
import { axes, nearestHead, argMax, view } from './map-view.js';

const MIN_ROW_PEAK = 0.5; // minimum weight on one word for a row to count as clear
const DISTANCE_PENALTY = 1.2; // penalty per relative distance, in units of weight

/** The characteristic roles of each kind. The head with the largest share of the first available role is shown. */
const INFORMATIVE_ROLES = { encoder: ['previous', 'next', 'same'], decoder: ['just_written', 'back_two'] };

/**
 * The initial row: for the default head the server's choice, for other heads the clearest row, preferably one whose
 * strongest word is far off the diagonal or that shows a change of word order. Null if the map is empty.
 * `selection`: kind, layer and head; `options`: display options.
 */
export function findInformativeRow(translation, selection, options) {
  const { rows, columns, weights } = view(translation, selection.kind, selection.layer, selection.head, options);
  if (!rows.length || !columns.length) return null;
  const openingPosition = getOpeningRow(translation, selection);
  const initial = openingPosition === null ? null : findRow(rows, openingPosition);
  if (initial !== null) return initial;
  const shift = isShiftedHead(translation, selection) ? 1 : 0; // offset from a row to the row of the word that it aligns
  const candidates = rows.map((item, row) => {
    const attention = weights.subarray(row * columns.length, (row + 1) * columns.length);
    const [word, column] = [rows[row - shift], argMax(attention)];
    const isInformative = word && [word, item, columns[column]].every(isWord) && !word.joined && columns[column].key !== word.key;
    return { row, column, weight: attention[column] || 0, isInformative, isClear: isInformative && attention[column] >= MIN_ROW_PEAK };
  });
  const clearRows = candidates.filter((candidate) => candidate.isClear);
  const scores = candidates.map((candidate) => {
    if (!candidate.isInformative) return isWord(rows[candidate.row]) && isWord(columns[candidate.column]) ? candidate.weight * 1e-3 : 0;
    const distance = Math.abs((candidate.column + 0.5) / columns.length - (candidate.row - shift + 0.5) / rows.length);
    const crossesOther =
      candidate.isClear && clearRows.some((other) => (other.row - candidate.row) * (other.column - candidate.column) < 0);
    return candidate.weight + DISTANCE_PENALTY * distance + (candidate.isClear ? 3 : 0) + (crossesOther ? 3 : 0);
  });
  return argMax(scores);
}

/** The index of the selected row after `changes` of the display options; null if no row is selected or it is hidden. */
export function remapRow(translation, { kind, row, words, special }, changes) {
  if (row === null) return null;
  const [position] = axes(translation, kind, { words, special }).rows[row].places;
  return findRow(axes(translation, kind, { words, special, ...changes }).rows, position);
}

/**
 * The selection after a change of kind: the head last selected in that kind, else its most informative one. The pinned
 * word stays pinned; if the rows of the new kind are the other sentence's, its aligned word is pinned instead.
 */
export function selectInKind(translation, state, kind) {
  const { kind: oldKind, layer, head, row, lastHeads } = state;
  const selection = { kind, ...nearestHead(translation, kind, lastHeads[kind] ?? chooseHead(translation, kind)) };
  const headHistory = { lastHeads: { ...lastHeads, [oldKind]: { layer, head } } };
  const [position] = (row === null ? null : axes(translation, oldKind, state).rows[row]?.places) ?? [null];
  if (position === null) return { ...selection, ...headHistory, row: null };
  const changesSentence = (oldKind === 'encoder') !== (kind === 'encoder');
  if (changesSentence && !translation.tensors.cross) return { ...selection, ...headHistory, row: null }; // no alignment
  const alignedPosition = !changesSentence
    ? position
    : kind === 'encoder'
      ? findSourcePositions(translation)[position]
      : findTargetPosition(translation, position);
  return { ...selection, ...headHistory, row: findRow(axes(translation, kind, state).rows, alignedPosition) };
}

/** The head with the largest share of the kind's first characteristic role, else the one with the fewest effective tokens per row. */
function chooseHead(translation, kind) {
  if (kind === 'cross') return defaultHead(translation);
  const heads = translation.roles?.[kind] ?? [];
  const roles = heads
    .slice(0, translation.layers(kind))
    .flatMap((layer, index) =>
      layer
        .slice(0, translation.heads(kind))
        .map(([name, share, effectiveCount], head) => ({ layer: index, head, name, share, effectiveCount })),
    );
  for (const role of INFORMATIVE_ROLES[kind]) {
    const matches = roles.filter(({ name }) => name === role);
    if (matches.length) return matches.reduce((best, match) => (match.share > best.share ? match : best));
  }
  return roles.length ? roles.reduce((best, role) => (role.effectiveCount < best.effectiveCount ? role : best)) : { layer: 0, head: 0 };
}

/** The source position of each target token, by the aligning head, else by the mean of all heads. */
function findSourcePositions(translation) {
  const { layer, head, shift } = getAligningHead(translation) ?? { layer: 'mean', head: 'mean', shift: 0 };
  const { weights, rows, columns } = translation.map('cross', layer, head);
  return translation.target.map((_, index) => {
    const row = Math.min(index + shift, rows - 1);
    return argMax(translation.source.map(({ special }, column) => (special ? 0 : weights[row * columns + column])));
  });
}

/** The target position whose aligned source position is nearest to `index`. */
function findTargetPosition(translation, index) {
  const sources = findSourcePositions(translation);
  const gaps = sources.map((source) => Math.abs(source - index));
  return gaps.indexOf(Math.min(...gaps));
}

/** The index of the row with the token at `position`; null if no row has it. */
function findRow(rows, position) {
  const row = rows.findIndex(({ places }) => places.includes(position));
  return row < 0 ? null : row;
}
