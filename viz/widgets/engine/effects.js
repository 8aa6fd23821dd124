// Effects: what each look of each head contributed to a word, from one pass back through the model, and measured effects of
// single heads. `model/experiments/effects.py` is the reference.

import { withoutParts } from './ablation.js';
import { attentionPath } from './attention.js';
import { replay } from './replay.js';
import { ReversePass } from './reverse-pass.js';
import { recordPass } from './tape.js';

export const LIKELIEST = 'likeliest';
export const KINDS = /** @type {const} */ (['encoder', 'decoder', 'cross']);

/**
 * @typedef {import('./translator.js').Model} Model
 * @typedef {import('./translator.js').Control} Control
 * @typedef {import('./transformer.js').Changes} Changes
 * @typedef {import('./tape.js').AttentionRecord} AttentionRecord
 * @typedef {number | 'likeliest' | null} Rival a token ID, the likeliest other token, or none
 * @typedef {Record<'encoder' | 'decoder' | 'cross', Float32Array[]>} Cells effects by layer, [head, row, key]
 */

/** The ID with the highest logit besides `id`. */
function likeliestOther(logits, id) {
  let best = id === 0 ? 1 : 0;
  for (let other = 0; other < logits.length; other++) if (other !== id && logits[other] > logits[best]) best = other;
  return best;
}

/**
 * The score of a word: its log probability, or its lead over a rival in logits. The logits are replaced by its gradient.
 * @param {Float32Array} logits
 * @param {number} id
 * @param {Rival} rival
 */
export function scoreWord(logits, id, rival) {
  if (rival !== null) {
    const other = rival === LIKELIEST ? likeliestOther(logits, id) : rival;
    const lead = logits[id] - logits[other];
    logits.fill(0);
    logits[id] += 1;
    logits[other] -= 1;
    return lead;
  }
  const own = logits[id];
  const highest = logits.reduce((most, logit) => Math.max(most, logit), -Infinity);
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit - highest), 0);
  for (let at = 0; at < logits.length; at++) logits[at] = -Math.exp(logits[at] - highest) / total;
  logits[id] += 1;
  return own - highest - Math.log(total);
}

/**
 * The scores of words, and the gradient of each with respect to the decoder's state in its row.
 * @param {import('./transformer.js').Transformer} transformer
 * @param {Float32Array} states [row, width]
 * @param {number[]} ids the word of each row
 * @param {Rival} rival
 */
export function scoreStates(transformer, states, ids, rival) {
  const { kernels, width, words } = transformer;
  const gradient = new Float32Array(states.length);
  /** @type {number[]} */
  const scores = [];
  const score = (logits, row) => scores.push(scoreWord(logits, ids[row], rival));
  transformer.logits(states, score, (first, rows) => {
    kernels.multiplyTransposed(transformer.logitRows, rows, words, transformer.states);
    gradient.set(transformer.states.subarray(0, rows * width), first * width);
  });
  return { scores, gradient };
}

const layerCount = (config, kind) => config[kind === 'encoder' ? 'encoder_layers' : 'decoder_layers'];

/** Weight times slope of each cell of a kind, by layer. */
function kindCells({ config }, { attentions }, { slopes }, kind) {
  return Array.from({ length: layerCount(config, kind) }, (_, layer) => {
    const path = attentionPath(kind, layer);
    const slope = /** @type {Float32Array} */ (slopes.get(path));
    const { weights } = /** @type {AttentionRecord} */ (attentions.get(path));
    return slope.map((number, at) => number * weights[at]);
  });
}

/**
 * The effects on the sum of scores whose gradients with respect to the states are known, or null if it was stopped.
 * @param {Model} model
 * @param {import('./tape.js').Tape} tape
 * @param {Float32Array} gradient
 * @param {Control} control
 * @returns {Promise<Cells | null>}
 */
async function allCells(model, tape, gradient, control) {
  const reverse = new ReversePass(model, tape);
  const isDone = (await reverse.run('decoder', gradient, control)) && (await reverse.run('encoder', reverse.memory, control));
  if (!isDone) return null;
  return /** @type {Cells} */ (Object.fromEntries(KINDS.map((kind) => [kind, kindCells(model, tape, reverse, kind)])));
}

const targetIds = ({ target }) => target.map(({ id }) => id);

/**
 * The effects on one word, and its score. Maps have no rows after the word.
 * @param {Model} model
 * @param {any} translation
 * @param {Changes} changes of its request
 * @param {{ position: number, rival: Rival }} word
 * @param {Control} [control]
 */
export async function wordEffects(model, translation, changes, { position, rival }, control = {}) {
  const tape = recordPass(model, translation, changes, position + 1);
  const first = position * model.transformer.width;
  const { scores, gradient } = scoreStates(model.transformer, tape.states.subarray(first), [translation.target[position].id], rival);
  const all = new Float32Array(tape.states.length);
  all.set(gradient, first);
  const cells = await allCells(model, tape, all, control);
  return cells && { score: scores[0], cells, memory: tape.memory };
}

/** The effects on the sum of the scores of all words. */
export async function sentenceEffects(model, translation, changes, rival, control = {}) {
  const tape = recordPass(model, translation, changes);
  const { gradient } = scoreStates(model.transformer, tape.states, targetIds(translation), rival);
  return allCells(model, tape, gradient, control);
}

/**
 * The effects of all heads of a kind as maps, by layer: a row of the decoder's kinds has the effects on the word that it writes.
 * An encoder's rows serve all words, so they have the effects on the whole translation.
 */
export async function effectMaps(model, translation, changes, { kind, rival }, control = {}) {
  if (kind === 'encoder') return (await sentenceEffects(model, translation, changes, rival, control))?.encoder ?? null;
  const tape = recordPass(model, translation, changes);
  const { gradient } = scoreStates(model.transformer, tape.states, targetIds(translation), rival);
  // No row before a word's own reads its own, so one pass serves all words.
  const reverse = new ReversePass(model, tape, { ownRows: true });
  return (await reverse.run('decoder', gradient, control)) && kindCells(model, tape, reverse, kind);
}

/**
 * The score of a word without these parts of the attention.
 * @param {Model} model
 * @param {any} translation
 * @param {Changes} changes
 * @param {{ position: number, rival: Rival }} word
 * @param {import('./ablation.js').AttentionPart[]} parts
 * @param {Float32Array | null} [encoded] output of the encoder, with `changes` alone
 */
export function scoreWithout(model, translation, changes, { position, rival }, parts, encoded = null) {
  const prefix = { ...translation, target: translation.target.slice(0, position + 1) };
  const isEncoded = parts.every(({ kind }) => kind !== 'encoder');
  const { states } = replay(model, prefix, withoutParts(changes, parts), { encoded: isEncoded ? encoded : null });
  const last = /** @type {Float32Array} */ (states).subarray(position * model.transformer.width);
  let score = 0;
  model.transformer.logits(last, (logits) => {
    score = scoreWord(logits, translation.target[position].id, rival);
  });
  return score;
}

/** The sum of a head's cells. */
export const headSums = (cells, heads) =>
  cells.map((layer) =>
    Array.from({ length: heads }, (_, head) => {
      const size = layer.length / heads;
      return layer.subarray(head * size, (head + 1) * size).reduce((sum, cell) => sum + cell, 0);
    }),
  );
