// The Transformer in the browser: encoder, and decoder with key/value caches. `model/core/` is its reference.

import { attentionPath, attentionWeights, mixValues } from './attention.js';
import { appendToCache } from './caches.js';
import { unsupportedSetting } from './supported.js';
import { Weights, WeightsError } from './weights.js';

const LOGIT_ROWS = 16; // rows of logits that are computed together
/** Numbers that a model needs besides its weights, for sequences of up to `config.max_length` tokens. */
const scratchFloats = ({ d_model: width, d_ff: wide, max_length: longest, target_vocabulary: words }) =>
  longest * (6 * width + wide + 16) + LOGIT_ROWS * (words + 4 + width) + 64;

/**
 * @typedef {import('./attention.js').Kind} Kind
 * @typedef {import('./caches.js').Cache} Cache
 * @typedef {{ attention?: (kind: Kind, layer: number) => import('./attention.js').Edits | undefined,
 *   places?: (side: 'encoder' | 'decoder', place: number) => number,
 *   isZero?: (side: 'encoder' | 'decoder', layer: number, part: 'feed_forward' | 'residual') => boolean,
 *   probe?: (path: string, numbers: Float32Array, rows: number) => void }} Changes of interventions; `probe` gets each tensor by
 *   the path that it has in Python, and copies it
 * @typedef {{ side: 'encoder' | 'decoder', layer: number, changes: Changes }} Place a layer with its changes
 * @typedef {Float32Array[]} Maps [head, row, key] of each layer
 */

export class Transformer {
  /**
   * @param {any} config `config.json`
   * @param {{ name: string, data: ArrayBuffer }[]} files
   */
  constructor(config, files) {
    const missing = unsupportedSetting(config);
    if (missing) throw new WeightsError(missing);
    this.config = config;
    this.width = config.d_model;
    /** @type {Float32Array[]} rows of the position table, computed on first use */
    this.positionRows = [];
    const weights = new Weights(files, scratchFloats(config));
    this.kernels = weights.kernels;
    this.parameters = { matrices: weights.matrices, vectors: weights.vectors };
    this.scale = config.scale_scores ? 1 / Math.sqrt(this.width / config.heads) : 1;
    const shared = weights.has('decoder.embedding.table.weight') ? 'decoder' : 'encoder';
    const tables = { encoder: weights.has('encoder.embedding.table.weight') ? 'encoder' : 'decoder', decoder: shared };
    /** @type {any} by side: table, layers and final norm */
    this.sides = {};
    for (const side of /** @type {const} */ (['encoder', 'decoder'])) this.sides[side] = this.readSide(weights, side, tables[side]);
    this.words = config.tie_output ? this.sides.decoder.table : weights.matrix('decoder.output.words');
    const allocate = (count) => this.kernels.allocate(config.max_length * count);
    const [normed, queries, keys, values, mixed, added] = Array.from({ length: 6 }, () => allocate(this.width));
    this.scratch = { normed, queries, keys, values, mixed, added, wide: allocate(config.d_ff) };
    this.states = this.kernels.allocate(LOGIT_ROWS * this.width);
    this.logitRows = this.kernels.allocate(LOGIT_ROWS * this.words.stride);
  }

  readSide(weights, side, tableSide) {
    const norm = (name) => ({ weight: weights.vector(`${name}.weight`), bias: weights.vector(`${name}.bias`) });
    const attention = (name) =>
      Object.fromEntries(['query', 'key', 'value', 'output'].map((part) => [part, weights.matrix(`${name}.${part}`)]));
    const layers = Array.from({ length: this.config[`${side}_layers`] }, (_, index) => {
      const layer = `${side}.layers.${index}`;
      const cross = side === 'decoder' ? attention(`${layer}.cross_attention`) : null;
      return {
        selfAttention: attention(`${layer}.self_attention`),
        crossAttention: cross,
        wide: weights.matrix(`${layer}.feed_forward.wide`),
        narrow: weights.matrix(`${layer}.feed_forward.narrow`),
        selfNorm: norm(`${layer}.around_self_attention.norm`),
        crossNorm: cross && norm(`${layer}.around_cross_attention.norm`),
        feedForwardNorm: norm(`${layer}.around_feed_forward.norm`),
      };
    });
    return {
      table: weights.matrix(`${tableSide}.embedding.table`),
      layers,
      finalNorm: this.config.final_norm ? norm(`${side}.final_norm`) : null,
    };
  }

  /**
   * Encodes ids. `allowed[key]` is 0 for hidden tokens.
   * @param {number[]} ids
   * @param {Uint8Array | null} allowed
   * @param {Changes} [changes]
   * @returns {{ vectors: Float32Array, maps: Maps }} vectors: [token, width]
   */
  encode(ids, allowed, changes = {}) {
    const { layers, finalNorm } = this.sides.encoder;
    const x = this.embed('encoder', ids, (index) => index, changes);
    const maps = layers.map((layer, index) => {
      const shape = this.shape('encoder', index, ids.length, ids.length, 0, allowed);
      /** @type {Place} */
      const place = { side: 'encoder', layer: index, changes };
      let map = new Float32Array(0);
      this.sublayer(x, place, 'self_attention', layer.selfNorm, (input, output) => {
        const own = this.project(input, ids.length, layer.selfAttention);
        map = this.attend(own.queries, own, shape, 0, changes);
        this.kernels.multiply(this.scratch.mixed, ids.length, layer.selfAttention.output, output);
      });
      this.feedForward(x, place, layer);
      return map;
    });
    if (finalNorm) this.normalise(x, finalNorm, x);
    return { vectors: x, maps };
  }

  /**
   * Keys and values of the source for each decoder layer.
   * @param {Float32Array} vectors
   * @returns {Cache[]}
   */
  projectMemory(vectors) {
    const length = vectors.length / this.width;
    this.scratch.normed.set(vectors);
    return this.sides.decoder.layers.map(({ crossAttention: { key, value } }) => {
      this.kernels.multiply(this.scratch.normed, length, key, this.scratch.keys);
      this.kernels.multiply(this.scratch.normed, length, value, this.scratch.values);
      const size = length * this.width;
      return { keys: this.scratch.keys.slice(0, size), values: this.scratch.values.slice(0, size), length };
    });
  }

  /** Empty caches of one hypothesis, one for each decoder layer. */
  newCaches(capacity = 32) {
    const empty = () => new Float32Array(capacity * this.width);
    return this.sides.decoder.layers.map(() => ({ keys: empty(), values: empty(), length: 0 }));
  }

  /**
   * Appends the next ids to the caches of hypotheses of one sentence.
   * @param {{ ids: number[], caches: Cache[] }[]} hypotheses with equally many ids
   * @param {Cache[]} cross
   * @param {Uint8Array | null} allowed source tokens that are not hidden
   * @param {Changes} [changes]
   * @returns {{ states: Float32Array, decoder: Maps[], cross: Maps[] }} states: [hypothesis, token, width], for `logits`;
   *   maps of each layer and hypothesis
   */
  decode(hypotheses, cross, allowed, changes = {}) {
    const { layers, finalNorm } = this.sides.decoder;
    const count = hypotheses[0].ids.length;
    const start = hypotheses[0].caches[0].length;
    const rows = hypotheses.length * count;
    const ids = hypotheses.flatMap((hypothesis) => hypothesis.ids);
    const x = this.embed('decoder', ids, (index) => start + (index % count), changes);
    const part = (array, index) => array.subarray(index * count * this.width, (index + 1) * count * this.width);
    const maps = layers.map((layer, index) => {
      const own = this.shape('decoder', index, count, start + count, start, null);
      const across = this.shape('cross', index, count, cross[index].length, start, allowed);
      /** @type {Place} */
      const place = { side: 'decoder', layer: index, changes };
      const result = { decoder: /** @type {Maps} */ ([]), cross: /** @type {Maps} */ ([]) };
      this.sublayer(x, place, 'self_attention', layer.selfNorm, (input, output) => {
        const { queries, keys, values } = this.project(input, rows, layer.selfAttention);
        result.decoder = hypotheses.map(({ caches }, which) => {
          appendToCache(caches[index], part(keys, which), part(values, which), this.width);
          return this.attend(part(queries, which), caches[index], own, which, changes);
        });
        this.kernels.multiply(this.scratch.mixed, rows, layer.selfAttention.output, output);
      });
      this.sublayer(x, place, 'cross_attention', layer.crossNorm, (input, output) => {
        this.kernels.multiply(input, rows, layer.crossAttention.query, this.scratch.queries);
        result.cross = hypotheses.map((_, which) => this.attend(part(this.scratch.queries, which), cross[index], across, which, changes));
        this.kernels.multiply(this.scratch.mixed, rows, layer.crossAttention.output, output);
      });
      this.feedForward(x, place, layer);
      return result;
    });
    if (finalNorm) this.normalise(x, finalNorm, x);
    return { states: x, decoder: maps.map((map) => map.decoder), cross: maps.map((map) => map.cross) };
  }

  /**
   * Calls `use(logits, row)` with the logits of each state. The array is reused for later rows; before that, `after` is called
   * with the first row and the number of rows.
   * @param {Float32Array} states
   * @param {(logits: Float32Array, row: number) => void} use
   * @param {(first: number, rows: number) => void} [after]
   */
  logits(states, use, after) {
    const { outputs, stride } = this.words;
    for (let first = 0; first * this.width < states.length; first += LOGIT_ROWS) {
      const part = states.subarray(first * this.width, (first + LOGIT_ROWS) * this.width);
      const rows = part.length / this.width;
      this.states.set(part);
      this.kernels.multiply(this.states, rows, { ...this.words, bias: null }, this.logitRows);
      for (let row = 0; row < rows; row++) use(this.logitRows.subarray(row * stride, row * stride + outputs), first + row);
      after?.(first, rows);
    }
  }

  // ---------------------------------------------------------------- parts

  shape(kind, layer, rows, keys, start, allowed) {
    return { kind, layer, heads: this.config.heads, rows, keys, start, allowed };
  }

  /** Table rows × √d_model + positions, [token, width]. `position(index)`: the position of a token before any change. */
  embed(side, ids, position, /** @type {Changes} */ { places, probe }) {
    const { weights } = this.sides[side].table;
    const { width } = this;
    const factor = this.config.scale_embedding ? Math.sqrt(width) : 1;
    const x = new Float32Array(ids.length * width);
    ids.forEach((id, index) => {
      for (let at = 0; at < width; at++) x[index * width + at] = weights[id * width + at] * factor;
    });
    probe?.(`${side}.embedding.embedded`, x, ids.length);
    for (let index = 0; index < ids.length; index++) {
      const place = places ? places(side, position(index)) : position(index);
      const row = place < 0 ? null : this.positionRow(place + this.config.position_offset);
      if (row) for (let at = 0; at < width; at++) x[index * width + at] += row[at];
    }
    for (const name of ['positioned', 'stream']) probe?.(`${side}.embedding.${name}`, x, ids.length);
    return x;
  }

  /** PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos(p / 10000^(2i/d)) */
  positionRow(place) {
    this.positionRows[place] ??= Float32Array.from({ length: this.width }, (_, at) => {
      const angle = place / 10_000 ** ((at - (at % 2)) / this.width);
      return at % 2 ? Math.cos(angle) : Math.sin(angle);
    });
    return this.positionRows[place];
  }

  /** Layer norm of each row of `x`, written to `target`. */
  normalise(x, { weight, bias }, target) {
    const { width } = this;
    for (let first = 0; first < x.length; first += width) {
      let [sum, squares] = [0, 0];
      for (let at = first; at < first + width; at++) sum += x[at];
      const mean = sum / width;
      for (let at = first; at < first + width; at++) squares += (x[at] - mean) ** 2;
      const factor = 1 / Math.sqrt(squares / width + this.config.norm_epsilon);
      for (let at = 0; at < width; at++) target[first + at] = (x[first + at] - mean) * factor * weight[at] + bias[at];
    }
  }

  /** x + sublayer(norm(x)), or norm(x + sublayer(x)) with post-norm, in place; without x if the residual is removed. */
  sublayer(x, /** @type {Place} */ { side, layer, changes }, part, norm, compute) {
    const { normed, added } = this.scratch;
    const path = `${side}.layers.${layer}`;
    const probe = (name, numbers) => changes.probe?.(`${path}.${name}`, numbers.subarray(0, x.length), x.length / this.width);
    if (this.config.norm_first) this.normalise(x, norm, normed);
    else normed.set(x);
    compute(normed, added);
    if (changes.isZero?.(side, layer, 'residual')) x.fill(0);
    probe(`around_${part}.carried`, x);
    probe(part === 'feed_forward' ? 'feed_forward.output' : `${part}.attended`, added);
    for (let at = 0; at < x.length; at++) x[at] += added[at];
    if (!this.config.norm_first) this.normalise(x, norm, x);
    probe(`around_${part}.stream`, x);
  }

  project(input, count, { query, key, value }) {
    const { queries, keys, values } = this.scratch;
    this.kernels.multiply(input, count, query, queries);
    this.kernels.multiply(input, count, key, keys);
    this.kernels.multiply(input, count, value, values);
    const size = count * this.width;
    return { queries: queries.subarray(0, size), keys: keys.subarray(0, size), values: values.subarray(0, size) };
  }

  /** Writes the mix of one hypothesis to `scratch.mixed`, and returns the weights. */
  attend(queries, { keys, values }, shape, which, changes) {
    const weights = attentionWeights(queries, keys, shape, this.scale, changes.attention?.(shape.kind, shape.layer), which);
    const size = shape.rows * this.width;
    const mixed = this.scratch.mixed.subarray(which * size, (which + 1) * size);
    mixValues(weights, values, shape, mixed);
    const path = attentionPath(shape.kind, shape.layer);
    changes.probe?.(`${path}.values`, values.subarray(0, shape.keys * this.width), shape.keys);
    changes.probe?.(`${path}.weights`, weights, shape.rows);
    changes.probe?.(`${path}.mixed`, mixed, shape.rows);
    return weights;
  }

  feedForward(x, /** @type {Place} */ place, { wide, narrow, feedForwardNorm }) {
    const rows = x.length / this.width;
    const { side, layer, changes } = place;
    const isZero = changes.isZero?.(side, layer, 'feed_forward');
    this.sublayer(x, place, 'feed_forward', feedForwardNorm, (input, output) => {
      if (isZero) output.fill(0);
      if (isZero && !changes.probe) return;
      const hidden = this.scratch.wide;
      this.kernels.multiply(input, rows, wide, hidden);
      for (let at = 0; at < rows * wide.outputs; at++) if (hidden[at] < 0) hidden[at] = 0;
      changes.probe?.(`${side}.layers.${layer}.feed_forward.hidden`, hidden.subarray(0, rows * wide.outputs), rows);
      if (!isZero) this.kernels.multiply(hidden, rows, narrow, output);
    });
  }
}
