// The calls about effects, in the format of the server: `viz/tabs/heads.py` and `viz/tabs/whatif.py`.

import { encodeArray } from './array-encoding.js';
import { KINDS, LIKELIEST, effectMaps, headSums, scoreWithout, sentenceEffects, wordEffects } from './effects.js';
import { requestChanges } from './replay.js';
import { ownChoice } from './reranking.js';
import { checkChoice, checkInteger, isNone, loadTranslation, loadWord, rivalValues } from './word-query.js';

const MAX_LISTED_HEADS = 5; // heads of "Which heads wrote this word?"

const round = (number, digits) => Math.round(number * 10 ** digits) / 10 ** digits;
const roundHeads = (sums) => sums.map((layer) => layer.map((sum) => round(sum, 4)));

/** The head's cell with the largest effect. */
function largestCell(cells, heads, head, keys) {
  const size = cells.length / heads;
  const own = cells.subarray(head * size, (head + 1) * size);
  let best = 0;
  own.forEach((cell, at) => {
    if (Math.abs(cell) > Math.abs(own[best])) best = at;
  });
  return { row: Math.floor(best / keys), column: best % keys, cell: round(own[best], 6) };
}

/** Predicted effects of all heads on a word; the largest are measured. */
export async function strongestEffects(engine, values, control) {
  const query = await loadWord(engine, values, control);
  if (!query) return null;
  const { model, translation, changes, position } = query;
  const effects = await wordEffects(model, translation, changes, query, control);
  if (!effects) return null;
  const { heads } = model.config;
  const sums = Object.fromEntries(KINDS.map((kind) => [kind, headSums(effects.cells[kind], heads)]));
  const all = KINDS.flatMap((kind) => sums[kind].flatMap((row, layer) => row.map((predicted, head) => ({ kind, layer, head, predicted }))));
  const largest = all.sort((one, other) => Math.abs(other.predicted) - Math.abs(one.predicted)).slice(0, MAX_LISTED_HEADS);
  const strongest = [];
  for (const part of largest) {
    await control.pause?.();
    if (control.isStopped?.()) return null;
    const without = scoreWithout(model, translation, changes, query, [part], effects.memory);
    const keys = part.kind === 'decoder' ? position + 1 : translation.source.length;
    const cell = largestCell(effects.cells[part.kind][part.layer], heads, part.head, keys);
    strongest.push({ ...part, predicted: round(part.predicted, 6), measured: round(effects.score - without, 6), ...cell });
  }
  return {
    heads: Object.fromEntries(KINDS.map((kind) => [kind, roundHeads(sums[kind])])),
    strongest,
    rival: rivalValues(model, query.rival),
  };
}

/** The effect of one head on a word, from a pass without it. */
export async function measuredEffect(engine, values, control) {
  const query = await loadWord(engine, values, control);
  if (!query) return null;
  const { model, translation, changes } = query;
  const { config } = model;
  const kind = checkChoice('kind', values.kind, KINDS);
  const layer = checkInteger('layer', values.layer, (kind === 'encoder' ? config.encoder_layers : config.decoder_layers) - 1);
  const head = checkInteger('head', values.head, config.heads - 1);
  const [before, after] = [[], [{ kind, layer, head }]].map((parts) => scoreWithout(model, translation, changes, query, parts));
  return { measured: round(before - after, 6) };
}

/** The maps of a word, which end at its row, in the shape of the translation's maps, with zeros after it. */
function padMaps(maps, heads, [queries, keys], position, kind) {
  const own = kind === 'encoder' ? queries : position + 1;
  const ownKeys = kind === 'decoder' ? own : keys;
  return maps.map((map) => {
    const padded = new Float32Array(heads * queries * keys);
    for (let row = 0; row < heads * own; row++) {
      const at = Math.floor(row / own) * queries + (row % own);
      padded.set(map.subarray(row * ownKeys, (row + 1) * ownKeys), at * keys);
    }
    return padded;
  });
}

/** The maps of a kind: of the effects on one word, or of each row's on its own word. */
async function kindMaps({ model, translation, changes, position, rival }, kind, control) {
  if (position === null) return effectMaps(model, translation, changes, { kind, rival }, control);
  return (await wordEffects(model, translation, changes, { position, rival }, control))?.cells[kind] ?? null;
}

/** The effects of all heads of a kind by layer, on one word, or on all words, or on their leads. Null if it was stopped. */
export async function mapNumbers(engine, values, control) {
  const query = await (isNone(values.place) ? loadTranslation : loadWord)(engine, values, control);
  if (!query) return null;
  const { model, translation, position = null, rival = null } = query;
  const kind = checkChoice('kind', values.kind, KINDS);
  const changes = await requestChanges(engine, model, translation);
  const compared = rival ?? (values.lead === true ? LIKELIEST : null);
  const maps = await kindMaps({ model, translation, changes, position, rival: compared }, kind, control);
  if (!maps) return null;
  const [inputs, outputs] = [translation.source.length, translation.target.length];
  const sides = { encoder: [inputs, inputs], decoder: [outputs, outputs], cross: [outputs, inputs] }[kind];
  const { heads } = model.config;
  return { model, rival, shape: [heads, ...sides], maps: position === null ? maps : padMaps(maps, heads, sides, position, kind) };
}

/** The same for the page. */
export async function mapEffects(engine, values, control) {
  const effects = await mapNumbers(engine, values, control);
  if (!effects) return null;
  const { model, rival, shape, maps } = effects;
  const numbers = new Float32Array(maps.length * maps[0].length);
  maps.forEach((map, layer) => {
    numbers.set(map, layer * map.length);
  });
  return { effects: encodeArray([maps.length, ...shape], numbers), rival: rivalValues(model, rival) };
}

/** The predicted loss of every head, from one pass back. */
export async function predictLosses(engine, values, control) {
  const query = await loadTranslation(engine, values, control, ownChoice);
  if (!query) return null;
  const { model, translation } = query;
  const cells = await sentenceEffects(model, translation, await requestChanges(engine, model, translation), null, control);
  return cells && { losses: Object.fromEntries(KINDS.map((kind) => [kind, roundHeads(headSums(cells[kind], model.config.heads))])) };
}
