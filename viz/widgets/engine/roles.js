// The role of each head in one sentence: `model/measures/roles.py`.

import { mapGeometry, punctuationKeys, rowEntropy } from './map-geometry.js';
import { mapsOfHeads } from './measures.js';
import { tables } from './tables.js';

/** @typedef {import('./map-geometry.js').Captured} Captured */

/** Runs of tokens of one word: [start, end]. */
export function wordGroups(tokens) {
  /** @type {[number, number][]} */
  const groups = [];
  tokens.forEach((token, index) => {
    if (token.special) return;
    const last = groups.at(-1);
    const before = tokens[index - 1];
    if (last && before && !before.special && before.word === token.word) last[1] = index + 1;
    else groups.push([index, index + 1]);
  });
  return groups;
}

const meanMap = (maps) => {
  const mean = new Float64Array(maps[0].length);
  for (const map of maps) for (let at = 0; at < map.length; at++) mean[at] += map[at] / maps.length;
  return mean;
};

/** Cells of the source word with the highest mean weight, for all tokens of each target word: [row, column]. */
export function alignedCells({ source, target, maps, heads }) {
  const columns = source.length;
  const cells = new Uint8Array(target.length * columns);
  const words = wordGroups(source);
  if (!words.length || !target.length) return cells;
  const mean = meanMap(mapsOfHeads(maps.cross, heads));
  for (const [start, end] of wordGroups(target)) {
    let [best, highest] = [words[0], -1];
    for (const word of words) {
      let total = 0;
      for (let row = start; row < end; row++) for (let column = word[0]; column < word[1]; column++) total += mean[row * columns + column];
      if (Math.fround(total) > highest) [best, highest] = [word, Math.fround(total)];
    }
    for (let row = start; row < end; row++) cells.fill(1, row * columns + best[0], row * columns + best[1]);
  }
  return cells;
}

/** Special tokens before the sentence and after it. */
function attentionSinks(columns) {
  const ordinary = columns.map(({ special }) => !special);
  const first = ordinary.indexOf(true);
  const leading = first < 0 ? columns.length : first;
  const trailing = ordinary.lastIndexOf(true) + 1;
  return { isFirst: (column) => column < leading, isLast: (column) => column >= Math.max(leading, trailing) };
}

/** For each role, whether a cell belongs to it: `(row, column, offset)`. */
function roleCells(translation, { kind, columns }) {
  const { isFirst, isLast } = attentionSinks(columns);
  const punctuation = punctuationKeys(columns);
  const shared = {
    start: (_row, column) => isFirst(column),
    end: (_row, column) => isLast(column),
    punctuation: (_row, column) => punctuation[column],
  };
  if (kind === 'encoder') {
    return {
      ...shared,
      same: (_row, _column, offset) => offset === 0,
      previous: (_row, _column, offset) => offset === -1,
      next: (_row, _column, offset) => offset === 1,
      before: (_row, _column, offset) => offset < 0,
      ahead: (_row, _column, offset) => offset > 0,
      around: (_row, _column, offset) => Math.abs(offset) <= tables.roles.neighbourhood,
    };
  }
  if (kind === 'decoder')
    return { ...shared, just_written: (_row, _column, offset) => offset === 0, back_two: (_row, _column, offset) => offset === -1 };
  const linked = alignedCells(translation);
  return {
    ...shared,
    aligns: (row, column) => linked[row * columns.length + column] === 1,
    behind: (row, column) => row > 0 && linked[(row - 1) * columns.length + column] === 1,
    diagonal: (_row, _column, offset) => Math.abs(offset) <= tables.max_diagonal_distance,
  };
}

/** The possible roles of a sentence: their chance, and the weight of each cell in their share. */
function possibleRoles(translation, geometry) {
  const { kind, rows, columns, allowed, several, offset } = geometry;
  const count = columns.length;
  const isCell = roleCells(translation, geometry);
  const rowsWithSeveral = several.filter(Boolean).length;
  return tables.roles.names[kind].flatMap((name) => {
    const possible = Uint8Array.from(allowed, (cell, at) => (cell && isCell[name](Math.floor(at / count), at % count, offset[at]) ? 1 : 0));
    const rowSum = (cells, row) => cells.subarray(row * count, (row + 1) * count).reduce((sum, cell) => sum + cell, 0);
    const eligible = Array.from({ length: rows }, (_, row) => row).filter((row) => several[row] && rowSum(possible, row) > 0);
    if (!eligible.length || eligible.length * 2 < rowsWithSeveral) return [];
    const chance = eligible.reduce((sum, row) => sum + rowSum(possible, row) / rowSum(allowed, row), 0) / eligible.length;
    return [{ name, chance: Math.fround(chance), possible, eligible }];
  });
}

/** The share of a role in a map: the mean weight of a row on its cells. */
function roleShare(map, { possible, eligible }, count) {
  let total = 0;
  for (const row of eligible) for (let at = row * count; at < (row + 1) * count; at++) if (possible[at]) total += map[at];
  return Math.fround(total / eligible.length);
}

function assignRole(map, roles, geometry, coverage) {
  const { min_share: minShare, min_excess: minExcess, min_share_wide: wideShare, min_excess_wide: wideExcess, wide } = tables.roles;
  let best = { name: 'unclear', share: 0, rank: -Infinity, clear: false };
  for (const role of roles) {
    const share = roleShare(map, role, geometry.columns.length);
    const excess = share - role.chance;
    const isWide = wide.includes(role.name);
    const isLarge = share >= (isWide ? wideShare : minShare) - 1e-6;
    const clear = isLarge && role.chance < 1 && excess / (1 - role.chance) >= (isWide ? wideExcess : minExcess) - 1e-6;
    const rank = clear ? excess - (isWide ? 2 : 0) : excess - 9;
    if (rank > best.rank) best = { name: role.name, share, rank, clear };
  }
  if (best.clear) return { name: best.name, share: best.share };
  if (coverage >= tables.roles.min_coverage) return { name: 'spreads', share: coverage };
  return { name: 'unclear', share: best.share };
}

function rowSpread(map, { rows, columns, allowed, several }) {
  const count = columns.length;
  let [coverage, spread, included] = [0, 0, 0];
  for (let row = 0; row < rows; row++) {
    if (!several[row]) continue;
    const effective = 2 ** rowEntropy(map.subarray(row * count, (row + 1) * count));
    const keys = allowed.subarray(row * count, (row + 1) * count).reduce((sum, cell) => sum + cell, 0);
    coverage += (effective - 1) / (keys - 1);
    spread += effective;
    included++;
  }
  return included ? { coverage: coverage / included, spread: spread / included } : { coverage: NaN, spread: 0 };
}

/**
 * The roles of all heads of a kind, `[layer][head]`, averages last: name, share and spread.
 * @param {Captured} translation
 * @param {import('./attention.js').Kind} kind
 * @returns {{ name: string, share: number, spread: number }[][]}
 */
export function headRoles(translation, kind) {
  const { maps, heads } = translation;
  const geometry = mapGeometry(translation, kind);
  if (!geometry.rows || !geometry.columns.length) return [];
  const roles = possibleRoles(translation, geometry);
  const layers = maps[kind].map((layer) => mapsOfHeads([layer], heads));
  const overHeads = layers.map(meanMap);
  const overLayers = Array.from({ length: heads }, (_, head) => meanMap(layers.map((layer) => layer[head])));
  const rows = [...layers.map((layer, index) => [...layer, overHeads[index]]), [...overLayers, meanMap(overHeads)]];
  return rows.map((row) =>
    row.map((map) => {
      const { coverage, spread } = rowSpread(map, geometry);
      return { ...assignRole(map, roles, geometry, coverage), spread };
    }),
  );
}
