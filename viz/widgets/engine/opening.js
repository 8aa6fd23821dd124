// The initial selection of a view: `model/translate/opening.py`.

import { hasLetterOrDigit, strip } from './characters.js';
import { alignedCells } from './roles.js';
import { tables } from './tables.js';

/**
 * @typedef {import('./map-geometry.js').Captured} Captured
 * @typedef {{ aligning: [number, number, number][], losses: [number, number, number][] }} CrossHeads measured heads: layer, head, and
 *   the offset of the row, or the loss without the head
 * @typedef {{ name: string, share: number }} Role
 */

const rowShift = ({ aligning }, layer, head) => aligning.find((measured) => measured[0] === layer && measured[1] === head)?.[2];

/**
 * Heads [layer, head] whose row aligns the token just read.
 * @param {Role[][]} roles of cross-attention, averages last
 * @param {CrossHeads} measured
 */
export function findLateHeads(roles, measured) {
  /** @type {[number, number][]} */
  const heads = [];
  roles.slice(0, -1).forEach((layer, index) => {
    layer.slice(0, -1).forEach((role, head) => {
      const shift = rowShift(measured, index, head);
      if (shift === undefined ? role.name === 'behind' : shift > 0) heads.push([index, head]);
    });
  });
  return heads;
}

const isContent = (word, language) => {
  const folded = strip(word).toLowerCase().replaceAll('’', "'");
  return hasLetterOrDigit(folded) && !(tables.function_words[language] ?? []).includes(folded);
};

/** Indices of tokens that are whole content words. */
function contentTokens(tokens, text, language) {
  const characters = Array.from(text);
  const pieces = new Map();
  for (const { word } of tokens) pieces.set(word, (pieces.get(word) ?? 0) + 1);
  const isWhole = ({ special, word, start, end }) =>
    !special && pieces.get(word) === 1 && isContent(characters.slice(start, end).join(''), language);
  return [...tokens.keys()].filter((index) => isWhole(tokens[index]));
}

const wordTokens = (tokens) => [...tokens.keys()].filter((index) => !tokens[index].special && hasLetterOrDigit(tokens[index].text));

/** The first index of the largest number. */
const argMax = (numbers) => numbers.reduce((best, number, index) => (number > numbers[best] ? index : best), 0);

/** Marks the cells, [row, column], that agree with the alignment of words. */
function findAgreeingCells(translation, measured) {
  const { source, target, maps, heads } = translation;
  const [best] = measured.aligning;
  const columns = source.length;
  if (!best || best[0] >= maps.cross.length || best[1] >= heads) return alignedCells(translation);
  const [layer, head, shift] = best;
  const map = headMap(translation, layer, head);
  const cells = new Uint8Array(target.length * columns);
  for (let row = 0; row < target.length; row++) {
    const mapRow = Math.min(row + shift, target.length - 1);
    cells[row * columns + argMax(map.subarray(mapRow * columns, (mapRow + 1) * columns))] = 1;
  }
  return cells;
}

function headMap({ source, target, maps }, layer, head) {
  const size = source.length * target.length;
  return maps.cross[layer].subarray(head * size, (head + 1) * size);
}

/**
 * The strongest cells of the rows of some heads, as {layer, head, row, weight}, if they are in one of the columns and agree with
 * the alignment.
 */
function findStrongestCells(translation, heads, rows, columns, agrees) {
  const count = translation.source.length;
  return heads.flatMap(([layer, head]) => {
    const map = headMap(translation, layer, head);
    return rows.flatMap((row) => {
      const column = argMax(map.subarray(row * count, (row + 1) * count));
      return columns.includes(column) && agrees[row * count + column] ? [{ layer, head, row, weight: map[row * count + column] }] : [];
    });
  });
}

/** The item with the largest `getRanks(item)`, a list that is compared number by number; of equal items the first. */
function findBest(items, getRanks) {
  const exceeds = (item, other) => {
    const index = getRanks(item).findIndex((rank, position) => rank !== getRanks(other)[position]);
    return index >= 0 && getRanks(item)[index] > getRanks(other)[index];
  };
  return items.reduce((best, item) => (exceeds(item, best) ? item : best));
}

/** The head with the highest source coverage. */
function findMostInformativeHead(translation) {
  const [rows, columns] = [wordTokens(translation.target), wordTokens(translation.source)];
  const count = translation.source.length;
  const all = translation.maps.cross.flatMap((_, layer) => Array.from({ length: translation.heads }, (_unused, head) => ({ layer, head })));
  return findBest(all, ({ layer, head }) => {
    const map = headMap(translation, layer, head);
    return [columns.reduce((sum, column) => sum + rows.reduce((most, row) => Math.max(most, map[row * count + column]), 0), 0)];
  });
}

/**
 * The initial head and row.
 * @param {Captured} translation
 * @param {Role[][]} roles of cross-attention
 * @param {CrossHeads} measured
 * @param {{ source: string, target: string }} languages two letters
 * @returns {import('messages').OpeningValues | null}
 */
export function chooseOpening(translation, roles, measured, languages) {
  const { source, target, text, sourceText, maps, heads } = translation;
  if (!source.length || !target.length) return maps.cross.length ? { layer: 0, head: 0, row: null } : null;
  const late = new Set(findLateHeads(roles, measured).map(String));
  const all = maps.cross.flatMap((_, layer) => Array.from({ length: heads }, (_unused, head) => [layer, head]));
  const candidates = all.filter((position) => !late.has(String(position)));
  const aligning = candidates.filter(([layer, head]) => roles[layer][head].name === 'aligns');
  const agrees = findAgreeingCells(translation, measured);
  const content = [contentTokens(target, text, languages.target), contentTokens(source, sourceText, languages.source)];
  const clearCells = findStrongestCells(translation, aligning, content[0], content[1], agrees).filter(
    ({ weight }) => weight >= tables.clear,
  );
  const headLoss = ({ layer, head }) => measured.losses.find((loss) => loss[0] === layer && loss[1] === head)?.[2] ?? -Infinity;
  const importance = (cell) => (measured.losses.length ? headLoss(cell) : roles[cell.layer][cell.head].share);
  if (clearCells.length) {
    const { layer, head, row } = findBest(clearCells, (cell) => [importance(cell), cell.weight]);
    return { layer, head, row };
  }
  for (const [rows, columns] of [content, [wordTokens(target), wordTokens(source)]]) {
    const cells = findStrongestCells(translation, candidates, rows, columns, agrees);
    if (!cells.length) continue;
    const { layer, head, row } = findBest(cells, (cell) => [cell.weight]);
    return { layer, head, row };
  }
  return { ...findMostInformativeHead(translation), row: 0 };
}
