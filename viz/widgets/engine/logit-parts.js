// The logits of a word and its rivals as sums over the parts of the decoder, with the divisors of all norms fixed:
// `model/measures/direct_effects.py`.

import { attentionPath } from './attention.js';
import { add } from './reverse-pass.js';

/** @typedef {{ part: string, kind: string | null, layer: number | null, head: number | null, vector: Float64Array }} Part */

/** The norm without its bias on a part of a vector, with the divisor of the whole. */
function applyNorm(part, whole, { weight }, epsilon) {
  const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  const [wholeMean, partMean] = [mean(whole), mean(part)];
  const divisor = Math.sqrt(whole.reduce((sum, number) => sum + (number - wholeMean) ** 2, 0) / whole.length + epsilon);
  return part.map((number, at) => ((number - partMean) / divisor) * weight[at]);
}

/** The contribution of each head to the residual stream of one row, without the bias. */
function headOutputs(mixed, { weights }, heads) {
  const width = mixed.length;
  const headWidth = width / heads;
  return Array.from({ length: heads }, (_, head) =>
    Float64Array.from({ length: width }, (_, output) => {
      let sum = 0;
      for (let at = head * headWidth; at < (head + 1) * headWidth; at++) sum += weights[output * width + at] * mixed[at];
      return sum;
    }),
  );
}

/** Splits the stream of one row of the decoder into parts. */
class StreamParts {
  /**
   * @param {import('./translator.js').Model} model
   * @param {import('./tape.js').Tape} tape
   * @param {number} row
   */
  constructor({ config, transformer }, tape, row) {
    const read = (path) => {
      const numbers = /** @type {Float32Array} */ (tape.tensors.get(path));
      return Float64Array.from(numbers.subarray(row * transformer.width, (row + 1) * transformer.width));
    };
    const [embedded, positioned] = ['embedded', 'positioned'].map((name) => read(`decoder.embedding.${name}`));
    this.config = config;
    /** @type {Part[]} */
    this.parts = [
      { part: 'embedding', kind: null, layer: null, head: null, vector: embedded },
      { part: 'positions', kind: null, layer: null, head: null, vector: positioned.map((number, at) => number - embedded[at]) },
    ];
    this.constant = new Float64Array(transformer.width); // biases
    transformer.sides.decoder.layers.forEach((layer, index) => this.addLayer(layer, index, read));
    const { finalNorm } = transformer.sides.decoder;
    if (finalNorm) this.normalise(read(`decoder.layers.${config.decoder_layers - 1}.around_feed_forward.stream`), finalNorm);
  }

  addLayer(layer, index, read) {
    const path = `decoder.layers.${index}`;
    const attentions = /** @type {const} */ ([
      ['decoder', 'self_attention', layer.selfAttention, layer.selfNorm],
      ['cross', 'cross_attention', layer.crossAttention, layer.crossNorm],
    ]);
    for (const [kind, name, { output }, norm] of attentions) {
      const outputs = headOutputs(read(`${attentionPath(kind, index)}.mixed`), output, this.config.heads);
      const parts = outputs.map((vector, head) => ({ part: 'head', kind, layer: index, head, vector }));
      this.addPart(parts, output.bias, norm, [read(`${path}.around_${name}.carried`), read(`${path}.${name}.attended`)]);
    }
    const output = read(`${path}.feed_forward.output`);
    const bias = output.some((number) => number !== 0) ? layer.narrow.bias : null; // a removed network adds no bias
    const part = {
      part: 'feed_forward',
      kind: null,
      layer: index,
      head: null,
      vector: output.map((number, at) => number - (bias?.[at] ?? 0)),
    };
    this.addPart([part], bias, layer.feedForwardNorm, [read(`${path}.around_feed_forward.carried`), output]);
  }

  /** Adds parts and a bias to the stream; `summands`: the stream before, and the output. */
  addPart(parts, bias, norm, [carried, output]) {
    if (carried.every((number) => number === 0)) {
      for (const { vector } of this.parts) vector.fill(0); // an intervention removed the residual connection
      this.constant.fill(0);
    }
    this.parts.push(...parts);
    if (bias) add(this.constant, bias);
    if (!this.config.norm_first) this.normalise(add(carried, output), norm);
  }

  normalise(whole, norm) {
    const apply = (vector) => applyNorm(vector, whole, norm, this.config.norm_epsilon);
    for (const part of this.parts) part.vector = apply(part.vector);
    this.constant = apply(this.constant);
    if (norm.bias) add(this.constant, norm.bias);
  }
}

/**
 * The parts of some logits in one row of the decoder. Their effects add up to the logits.
 * @param {import('./translator.js').Model} model
 * @param {import('./tape.js').Tape} tape with the tensors `embedded`, `positioned` and `mixed`, too
 * @param {number} row
 * @param {number[]} ids
 */
export function logitParts(model, tape, row, ids) {
  const { parts, constant } = new StreamParts(model, tape, row);
  const { weights, inputs } = model.transformer.words;
  const logit = (vector) => (id) => vector.reduce((sum, number, at) => sum + number * weights[id * inputs + at], 0);
  const bias = { part: 'bias', kind: null, layer: null, head: null, vector: constant };
  return [...parts, bias].map(({ vector, ...part }) => ({ ...part, effects: ids.map(logit(vector)) }));
}
