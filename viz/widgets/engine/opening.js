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
 * Heads whose row aligns the token just read.
 * @param {Role[][]} roles of cross-attention, averages last
 * @param {CrossHeads} measured
 */
export function lateHeads(roles, measured) {
  /** @type {[number, number][]} */
  const late = [];
  roles.slice(0, -1).forEach((layer, index) => {
    layer.slice(0, -1).forEach((role, head) => {
      const shift = rowShift(measured, index, head);
      if (shift === undefined ? role.name === 'behind' : shift > 0) late.push([index, head]);
    });
  });
  return late;
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
const indexOfLargest = (numbers) => numbers.reduce((best, number, index) => (number > numbers[best] ? index : best), 0);

/** Whether cells, [row, column], agree with the alignment of words. */
function agreeingCells(translation, measured) {
  const { source, target, maps, heads } = translation;
  const [best] = measured.aligning;
  const columns = source.length;
  if (!best || best[0] >= maps.cross.length || best[1] >= heads) return alignedCells(translation);
  const [layer, head, shift] = best;
  const map = headMap(translation, layer, head);
  const cells = new Uint8Array(target.length * columns);
  for (let row = 0; row < target.length; row++) {
    const shifted = Math.min(row + shift, target.length - 1);
    cells[row * columns + indexOfLargest(map.subarray(shifted * columns, (shifted + 1) * columns))] = 1;
  }
  return cells;
}

function headMap({ source, target, maps }, layer, head) {
  const size = source.length * target.length;
  return maps.cross[layer].subarray(head * size, (head + 1) * size);
}

/** The strongest weight of each row, if its column is allowed and agrees with the alignment. */
function findLooks(translation, heads, rows, columns, agrees) {
  const count = translation.source.length;
  return heads.flatMap(([layer, head]) => {
    const map = headMap(translation, layer, head);
    return rows.flatMap((row) => {
      const column = indexOfLargest(map.subarray(row * count, (row + 1) * count));
      return columns.includes(column) && agrees[row * count + column] ? [{ layer, head, row, weight: map[row * count + column] }] : [];
    });
  });
}

/** The first item that no other exceeds; `ranks(item)` are compared in order. */
function firstBest(items, ranks) {
  const exceeds = (one, other) => {
    const index = ranks(one).findIndex((rank, at) => rank !== ranks(other)[at]);
    return index >= 0 && ranks(one)[index] > ranks(other)[index];
  };
  return items.reduce((best, item) => (exceeds(item, best) ? item : best));
}

/** The head with the highest source coverage. */
function mostInformative(translation) {
  const [rows, columns] = [wordTokens(translation.target), wordTokens(translation.source)];
  const count = translation.source.length;
  const all = translation.maps.cross.flatMap((_, layer) => Array.from({ length: translation.heads }, (_unused, head) => ({ layer, head })));
  return firstBest(all, ({ layer, head }) => {
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
  const late = new Set(lateHeads(roles, measured).map(String));
  const all = maps.cross.flatMap((_, layer) => Array.from({ length: heads }, (_unused, head) => [layer, head]));
  const candidates = all.filter((position) => !late.has(String(position)));
  const aligning = candidates.filter(([layer, head]) => roles[layer][head].name === 'aligns');
  const agrees = agreeingCells(translation, measured);
  const content = [contentTokens(target, text, languages.target), contentTokens(source, sourceText, languages.source)];
  const clear = findLooks(translation, aligning, content[0], content[1], agrees).filter(({ weight }) => weight >= tables.clear);
  const headLoss = ({ layer, head }) => measured.losses.find((loss) => loss[0] === layer && loss[1] === head)?.[2] ?? -Infinity;
  const importance = (look) => (measured.losses.length ? headLoss(look) : roles[look.layer][look.head].share);
  if (clear.length) {
    const { layer, head, row } = firstBest(clear, (look) => [importance(look), look.weight]);
    return { layer, head, row };
  }
  for (const [rows, columns] of [content, [wordTokens(target), wordTokens(source)]]) {
    const looks = findLooks(translation, candidates, rows, columns, agrees);
    if (!looks.length) continue;
    const { layer, head, row } = firstBest(looks, (look) => [look.weight]);
    return { layer, head, row };
  }
  return { ...mostInformative(translation), row: 0 };
}
