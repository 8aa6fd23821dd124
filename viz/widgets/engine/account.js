// The account of a word: what each token added to its lead over a rival, with attention weights, norms' divisors and the gates
// of the feed-forward networks fixed. `model/experiments/account.py` is the reference.

import { attentionPath } from './attention.js';
import { ReversePass } from './reverse-pass.js';
import { recordPass } from './tape.js';

/**
 * @typedef {import('./translator.js').Model} Model
 * @typedef {import('./translator.js').Control} Control
 * @typedef {{ lead: number, prefix: number[], reverse: ReversePass, model: Model, tape: import('./tape.js').Tape }} FixedRun
 */

const [SOURCE, TARGET] = ['encoder.embedding.stream', 'decoder.embedding.stream'];

/** The difference of two rows of a matrix. */
function rowDifference({ weights, inputs }, first, second) {
  return Float32Array.from({ length: inputs }, (_, at) => weights[first * inputs + at] - weights[second * inputs + at]);
}

/** The product of embedding and gradient, summed over the dimensions of each token. */
function computeSummands(embeddings, gradient, width) {
  return Array.from({ length: gradient.length / width }, (_, token) => {
    let sum = 0;
    for (let at = token * width; at < (token + 1) * width; at++) sum += embeddings[at] * gradient[at];
    return sum;
  });
}

/**
 * Goes back through the decoder from the lead of a word over a rival. Null if it was stopped.
 * @param {Model} model
 * @param {any} translation
 * @param {import('./transformer.js').Changes} changes
 * @param {{ position: number, rival: number }} word
 * @param {Control} [control]
 * @returns {Promise<FixedRun | null>}
 */
export async function fixedRun(model, translation, changes, { position, rival }, control = {}) {
  const { width, words } = model.transformer;
  const tape = recordPass(model, translation, changes, position + 1);
  const slope = rowDifference(words, translation.target[position].id, rival);
  const gradient = new Float32Array(tape.states.length);
  gradient.set(slope, position * width);
  const reverse = new ReversePass(model, tape, { fixed: true });
  const prefix = await reverse.run('decoder', gradient, control);
  if (!prefix) return null;
  const lead = slope.reduce((sum, number, at) => sum + number * tape.states[position * width + at], 0);
  return { lead, prefix: computeSummands(tape.tensors.get(TARGET), prefix, width), reverse, model, tape };
}

/** The contribution of each source token through a gradient of the encoder's output; null if it was stopped. */
async function traceBack({ reverse, tape, model }, memory, control) {
  const gradient = await reverse.run('encoder', memory, control);
  return gradient && computeSummands(tape.tensors.get(SOURCE), gradient, model.transformer.width);
}

/**
 * The lead of a word over a rival as {lead, source, prefix, constants}: a contribution per source token, one per decoder input,
 * and the contribution of the model's biases. Null if it was stopped.
 */
export async function accountWord(run, control = {}) {
  const source = await traceBack(run, run.reverse.memory, control);
  if (!source) return null;
  const total = [...source, ...run.prefix].reduce((sum, part) => sum + part, 0);
  return { lead: run.lead, source, prefix: run.prefix, constants: run.lead - total };
}

/** The gradient of the encoder's output through some keys of a head of cross-attention. */
function keyGradient({ reverse, model }, layer, head, isIncluded) {
  const { transformer, config } = model;
  const values = /** @type {Float32Array} */ (reverse.values.get(attentionPath('cross', layer)));
  const [{ width }, headWidth] = [transformer, transformer.width / config.heads];
  const headValues = values.map((slope, at) => {
    const isFromHead = Math.floor((at % width) / headWidth) === head && isIncluded(Math.floor(at / width));
    return isFromHead ? slope : 0;
  });
  return reverse.multiplyTransposed(headValues, transformer.sides.decoder.layers[layer].crossAttention.value);
}

/** The contribution of each source token through each head of cross-attention, [layer][head][token]; null if it was stopped. */
export async function accountByHead(run, control = {}) {
  const layers = [];
  for (let layer = 0; layer < run.model.config.decoder_layers; layer++) {
    const heads = [];
    for (let head = 0; head < run.model.config.heads; head++) {
      const parts = await traceBack(
        run,
        keyGradient(run, layer, head, () => true),
        control,
      );
      if (!parts) return null;
      heads.push(parts);
    }
    layers.push(heads);
  }
  return layers;
}

/** The contribution of each source token through each key of a head of cross-attention, [key][token]; null if it was stopped. */
export async function accountByKey(run, layer, head, control = {}) {
  const keys = [];
  for (let key = 0; key * run.model.transformer.width < run.tape.memory.length; key++) {
    const parts = await traceBack(
      run,
      keyGradient(run, layer, head, (other) => other === key),
      control,
    );
    if (!parts) return null;
    keys.push(parts);
  }
  return keys;
}
