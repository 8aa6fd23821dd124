// The map of a selection: one head, a mean, a maximum or effects, with merged words and without special tokens. The
// references are `model/measures/map_reduction.py` and `viz/export/files.py`.

import { strip } from './characters.js';
import { mapNumbers } from './effect-calls.js';
import { checkInteger, isNone } from './word-query.js';

/**
 * @typedef {import('./tokenizer.js').Token} Token
 * @typedef {{ kind: string, layer: number, head: number | null, weights: Float32Array, allowed: Uint8Array, rows: Token[], columns: Token[],
 *   previous: Token[] }} AttentionMap `weights` and `allowed`: [row, column]; `layer`: −1 for all; `head`: null for all;
 *   `previous`: the tokens whose states give the queries
 */

/** The layers and the heads of a selection: one, or all that a reduction covers. */
function selectedHeads(translation, { kind, layer, head }) {
  const range = (name, index, count) =>
    typeof index === 'string' ? Array.from({ length: count }, (_, at) => at) : [checkInteger(name, index, count - 1)];
  return { layers: range('layer', layer, translation.maps[kind].length), heads: range('head', head, translation.heads) };
}

/** The tokens and the allowed cells of a kind. */
function mapSides({ source, target, start, hidden }, kind) {
  const read = [start, ...target.slice(0, -1)];
  const rows = kind === 'encoder' ? source : target;
  const columns = kind === 'decoder' ? read : source;
  const isAllowed = (row, column) => (kind === 'decoder' ? column <= row : !hidden.includes(column));
  const allowed = Uint8Array.from({ length: rows.length * columns.length }, (_, at) =>
    Number(isAllowed(Math.floor(at / columns.length), at % columns.length)),
  );
  return { rows, columns, previous: kind === 'encoder' ? source : read, allowed };
}

/** Combines the maps of the selected heads, [layer][head, row, column], cell by cell. */
function combine(translation, selection, maps, add, scale) {
  const { layers, heads } = selectedHeads(translation, selection);
  const sides = mapSides(translation, selection.kind);
  const size = sides.allowed.length;
  const sums = new Float64Array(size);
  for (const layer of layers) {
    for (const head of heads) for (let cell = 0; cell < size; cell++) sums[cell] = add(sums[cell], maps[layer][head * size + cell]);
  }
  const count = layers.length * heads.length;
  return {
    ...sides,
    kind: selection.kind,
    layer: layers.length === 1 ? layers[0] : -1,
    head: heads.length === 1 ? heads[0] : null,
    weights: Float32Array.from(sums, (sum) => sum * scale(count)),
  };
}

/** The attention of the selected heads, with the page's options. @returns {AttentionMap} */
export function weightMap(translation, selection) {
  const isMaximum = selection.head === 'max';
  const [add, scale] = isMaximum ? [Math.max, () => 1] : [(sum, weight) => sum + weight, (count) => 1 / count];
  const map = combine(translation, selection, translation.maps[selection.kind], add, scale);
  return reduce(map, selection, { rescale: selection.rescale && !isMaximum, sumRows: false });
}

/** The predicted effects of the selected heads, in nats, summed over heads. Null if it was stopped. */
export async function effectMap(engine, request, translation, selection, control) {
  const place = effectWord(selection);
  const rival = place !== null && selection.rival?.[0] === place ? selection.rival[1] : null;
  const { kind, lead } = selection;
  const query = { request, kind, lead, place, rival: lead ? rival : null };
  const effects = await mapNumbers(engine, query, control);
  if (!effects) return null;
  const map = combine(
    translation,
    selection,
    effects.maps,
    (sum, effect) => sum + effect,
    () => 1,
  );
  return reduce(map, selection, { rescale: false, sumRows: true });
}

/** The word that effects of the encoder are on; null for all words. */
export const effectWord = ({ kind, word }) => (kind === 'encoder' && !isNone(word) ? word : null);

/** Whether effects are shown. They have no maximum over heads, so that view shows weights. */
export const showsEffects = ({ view, head }) => view === 'effect' && head !== 'max';

function reduce(map, { words, special }, { rescale, sumRows }) {
  const merged = words ? mergeWords(map, sumRows) : map;
  return special ? merged : dropSpecial(merged, rescale);
}

// ------------------------------------------------------------ words

/** Runs of tokens of the same word, as lists of positions. */
function wordRuns(tokens) {
  /** @type {number[][]} */
  const runs = [];
  for (const [index, token] of tokens.entries()) {
    const before = tokens[index - 1];
    if (before && !isNone(before.word) && before.word === token.word) runs[runs.length - 1].push(index);
    else runs.push([index]);
  }
  return runs;
}

/** One token that spans a run. */
function joinTokens(tokens) {
  if (tokens.length === 1) return tokens[0];
  let [text, end] = ['', tokens[0].start];
  for (const token of tokens) {
    if (token.end > end) text += token.text; // each byte of a character has the character as its text
    end = Math.max(end, token.end);
  }
  return { ...tokens[0], text: strip(text) || text, id: -1, end, piece: 0, pieces: 1 };
}

/** Sums over keys, and over queries or averages over them. */
function mergeWords(map, sumRows) {
  const [rows, columns, previousRuns] = [map.rows, map.columns, map.previous].map(wordRuns);
  const count = map.columns.length;
  const weights = new Float32Array(rows.length * columns.length);
  const allowed = new Uint8Array(weights.length);
  rows.forEach((row, first) => {
    columns.forEach((column, second) => {
      const cells = row.flatMap((query) => column.map((key) => query * count + key));
      const at = first * columns.length + second;
      allowed[at] = Number(cells.some((cell) => map.allowed[cell]));
      if (allowed[at]) weights[at] = cells.reduce((sum, cell) => sum + map.weights[cell], 0) / (sumRows ? 1 : row.length);
    });
  });
  const findRun = (index) => previousRuns.find((run) => run.includes(index)) ?? [];
  const join = (tokens) => (run) => joinTokens(run.map((index) => tokens[index]));
  return {
    ...map,
    weights,
    allowed,
    rows: rows.map(join(map.rows)),
    columns: columns.map(join(map.columns)),
    previous: rows.map(([index]) => join(map.previous)(findRun(index))),
  };
}

/** The map without special tokens. With `rescale`, rows sum to one again. */
function dropSpecial(map, rescale) {
  const [rows, columns] = [map.rows, map.columns].map((tokens) => [...tokens.keys()].filter((index) => !tokens[index].special));
  const cells = rows.flatMap((row) => columns.map((column) => row * map.columns.length + column));
  const weights = Float32Array.from(cells, (cell) => map.weights[cell]);
  for (let row = 0; rescale && row < rows.length; row++) {
    const own = weights.subarray(row * columns.length, (row + 1) * columns.length);
    const sum = own.reduce((total, weight) => total + weight, 0);
    if (sum > 0) own.forEach((weight, at) => (own[at] = weight / sum));
  }
  const pick = (tokens, indices) => indices.map((index) => tokens[index]);
  return {
    ...map,
    weights,
    allowed: Uint8Array.from(cells, (cell) => map.allowed[cell]),
    rows: pick(map.rows, rows),
    columns: pick(map.columns, columns),
    previous: pick(map.previous, rows),
  };
}
