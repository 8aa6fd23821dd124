// The pass back through the Transformer: gradients of a score with respect to attention weights and embeddings.

import { attentionPath } from './attention.js';
import { normGradient, softmaxGradient, sumByCells, weightsGradient } from './gradients.js';

/** @typedef {import('./attention.js').Kind} Kind */
/** @typedef {import('./tape.js').AttentionRecord} AttentionRecord */
/** @typedef {'encoder' | 'decoder'} Side */
/** @typedef {'self_attention' | 'cross_attention' | 'feed_forward'} Part */

/** @type {Record<Side, Part[]>} in the order in which they run */
const PARTS = { encoder: ['self_attention', 'feed_forward'], decoder: ['self_attention', 'cross_attention', 'feed_forward'] };
const NORMS = { self_attention: 'selfNorm', cross_attention: 'crossNorm', feed_forward: 'feedForwardNorm' };

/** Adds numbers to those of `target` in place, and returns `target`. */
export function add(target, numbers) {
  for (let at = 0; at < target.length; at++) target[at] += numbers[at];
  return target;
}

/** The path of the stream into a part of a layer. @param {Side} side @param {number} layer @param {Part} part */
function inputPath(side, layer, part) {
  const previousPart = PARTS[side][PARTS[side].indexOf(part) - 1];
  if (previousPart) return `${side}.layers.${layer}.around_${previousPart}.stream`;
  return layer ? `${side}.layers.${layer - 1}.around_feed_forward.stream` : `${side}.embedding.stream`;
}

export class ReversePass {
  /**
   * @param {import('./translator.js').Model} model
   * @param {import('./tape.js').Tape} tape
   * @param {{ fixed?: boolean, ownRows?: boolean }} [options] `fixed`: attention weights and norms' divisors are constants;
   *   `ownRows`: each row of the decoder has its own score, and the gradients in row i are those of score i
   */
  constructor({ config, transformer }, tape, { fixed = false, ownRows = false } = {}) {
    this.config = config;
    this.transformer = transformer;
    this.tape = tape;
    this.fixed = fixed;
    this.ownRows = ownRows;
    /** @type {Map<string, Float32Array>} gradients of attention weights by path, [head, row, key] */
    this.slopes = new Map();
    /** @type {Map<string, Float32Array>} gradients of the values of cross-attention, [key, width] */
    this.values = new Map();
    /** @type {Map<string, Float32Array>} gradients of weights that a later layer copied */
    this.copied = new Map();
    this.memory = new Float32Array(tape.memory.length); // gradient of the encoder's output
  }

  /**
   * Goes back through one side. Returns the gradient of its embeddings, or null if it was stopped.
   * @param {Side} side
   * @param {Float32Array} gradient of its output, [row, width]
   * @param {import('./translator.js').Control} [control]
   * @returns {Promise<Float32Array | null>}
   */
  async run(side, gradient, control = {}) {
    const { layers, finalNorm } = this.transformer.sides[side];
    const output = this.tensor(inputPath(side, layers.length, 'self_attention')); // of the last layer
    let stream = finalNorm ? this.norm(gradient, output, finalNorm) : gradient;
    for (let layer = layers.length - 1; layer >= 0; layer--) {
      await control.pause?.();
      if (control.isStopped?.()) return null;
      for (const part of [...PARTS[side]].reverse()) stream = this.sublayer(stream, side, layer, part);
    }
    return stream;
  }

  tensor(path) {
    return /** @type {Float32Array} */ (this.tape.tensors.get(path));
  }

  norm(gradient, input, { weight }) {
    return normGradient(gradient, input, { weight, epsilon: this.config.norm_epsilon, width: this.transformer.width, fixed: this.fixed });
  }

  /** The gradient of the stream into a sub-layer from that of the stream after it. */
  sublayer(gradient, side, layer, part) {
    const path = `${side}.layers.${layer}`;
    const norm = this.transformer.sides[side].layers[layer][NORMS[part]];
    const isCut = this.tape.changes.isZero?.(side, layer, 'residual');
    const sumGradient = this.config.norm_first ? gradient : this.norm(gradient, this.residualSum(path, part), norm);
    const partGradient = this.part(sumGradient, side, layer, part);
    const inputGradient = this.config.norm_first ? this.norm(partGradient, this.tensor(inputPath(side, layer, part)), norm) : partGradient;
    return isCut ? inputGradient : add(inputGradient, sumGradient);
  }

  /** x + sublayer(x), which post-norm normalises. */
  residualSum(path, part) {
    const output = part === 'feed_forward' ? 'feed_forward.output' : `${part}.attended`;
    return add(this.tensor(`${path}.around_${part}.carried`).slice(), this.tensor(`${path}.${output}`));
  }

  /** The gradient of a part's input from that of its output. */
  part(gradient, side, layer, part) {
    const weights = this.transformer.sides[side].layers[layer];
    if (part === 'feed_forward') return this.feedForward(gradient, side, layer, weights);
    if (part === 'cross_attention') return this.crossAttention(gradient, layer, weights.crossAttention);
    const { queries, keys, values } = this.attention(gradient, side, layer, weights.selfAttention.output);
    const { query, key, value } = weights.selfAttention;
    const valueGradient = this.multiplyTransposed(values, value);
    return this.fixed
      ? valueGradient
      : add(add(valueGradient, this.multiplyTransposed(queries, query)), this.multiplyTransposed(keys, key));
  }

  crossAttention(gradient, layer, { query, key, value, output }) {
    const { queries, keys, values } = this.attention(gradient, 'cross', layer, output);
    this.values.set(attentionPath('cross', layer), values);
    if (!this.ownRows) add(this.memory, this.multiplyTransposed(values, value));
    if (!this.ownRows && !this.fixed) add(this.memory, this.multiplyTransposed(keys, key));
    return this.fixed ? new Float32Array(gradient.length) : this.multiplyTransposed(queries, query);
  }

  /** The gradients of queries, keys and values. @param {Kind} kind */
  attention(gradient, kind, layer, output) {
    const path = attentionPath(kind, layer);
    const { shape, weights, queries, keys } = /** @type {AttentionRecord} */ (this.tape.attentions.get(path));
    const { width, scale } = this.transformer;
    const ownRows = this.ownRows && kind === 'decoder';
    const mixed = this.multiplyTransposed(gradient, output);
    const values = sumByCells(weights, mixed, shape, { width, byKey: true, ownRows });
    if (this.fixed) return { queries: mixed, keys: values, values };
    const scores = this.scores(path, kind, mixed);
    return {
      queries: sumByCells(scores, keys, shape, { width, byKey: false, scale }),
      keys: sumByCells(scores, queries, shape, { width, byKey: true, scale, ownRows }),
      values,
    };
  }

  /** The gradient of the scores, through softmax and interventions. Stores that of the weights. */
  scores(path, kind, mixed) {
    const { shape, edits, softmax } = /** @type {AttentionRecord} */ (this.tape.attentions.get(path));
    const gradient = weightsGradient(mixed, this.tensor(`${path}.values`), shape);
    this.slopes.set(path, gradient.slice());
    const copies = this.copied.get(path);
    if (copies) add(gradient, copies);
    edits?.weightsGradient?.(gradient, softmax, shape, (layer) => this.copiedGradient(kind, layer, gradient.length));
    softmaxGradient(gradient, softmax, shape);
    edits?.scoresGradient?.(gradient, shape);
    return gradient;
  }

  copiedGradient(kind, layer, length) {
    const path = attentionPath(kind, layer);
    const gradient = this.copied.get(path) ?? new Float32Array(length);
    this.copied.set(path, gradient);
    return gradient;
  }

  feedForward(gradient, side, layer, { wide, narrow }) {
    if (this.tape.changes.isZero?.(side, layer, 'feed_forward')) return new Float32Array(gradient.length);
    const active = this.tensor(`${side}.layers.${layer}.feed_forward.hidden`);
    const hidden = this.multiplyTransposed(gradient, narrow);
    for (let at = 0; at < hidden.length; at++) if (active[at] <= 0) hidden[at] = 0;
    return this.multiplyTransposed(hidden, wide);
  }

  /** The gradient of a matrix product's input, [row, inputs], from that of its output, [row, stride]. */
  multiplyTransposed(gradient, matrix) {
    const { kernels, scratch, width } = this.transformer;
    const rows = gradient.length / matrix.stride;
    const input = matrix.stride === width ? scratch.normed : scratch.wide;
    const output = matrix.inputs === width ? scratch.added : scratch.wide;
    input.set(gradient);
    kernels.multiplyTransposed(input, rows, matrix, output);
    return output.slice(0, rows * matrix.inputs);
  }
}
