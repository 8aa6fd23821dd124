// One step with its tensors: which it needs, what each figure shows of them, and what the browser computes from queries, keys
// and values, so that switching head or token needs no request.

import { LOGITS, valueAt, elementwise, products, rowOf, headSlice, softmax, sum } from './tensor-cache.js';

const PLACES = {
  encoder: ['encoder.layers.{layer}', 'self_attention'],
  decoder: ['decoder.layers.{layer}', 'self_attention'],
  cross: ['decoder.layers.{layer}', 'cross_attention'],
};
const OF_ATTENTION = ['queries', 'keys', 'values', 'scores', 'mixed', 'attended'];
const OF_LAYER = ['feed_forward.hidden', 'feed_forward.output'];

/** Derived tensors and their inputs. */
const DERIVED = {
  raw: ['queries', 'keys'],
  scaled: ['queries', 'keys'],
  query: ['queries'],
  key: ['keys'],
  products: ['queries', 'keys'],
  weights: ['scores'],
  weighted: ['scores', 'values'],
  mixture: ['scores', 'values'],
  joined: ['mixed'],
};

/** @typedef {import('./tensor-cache.js').Matrix} Matrix */

export class StepScene {
  /**
   * @param {any} step as the lesson has it
   * @param {import('../core/translation.js').Translation} translation
   * @param {any} look the resolved selection (lesson-link.js)
   * @param {any} brought tensors of this sentence loaded so far
   * @param {any} found what its experiment answered, if it has one
   */
  constructor(step, translation, look, brought, part = 0, found = null) {
    this.step = step;
    this.translation = translation;
    this.look = look;
    this.brought = brought;
    this.part = part;
    this.found = found;
    this.kind = step.kind;
    this.model = brought.model ?? found?.model;
    this.memo = new Map();
  }

  /** The row in question: the token that is read, or the one being written. */
  get row() {
    return this.kind === 'encoder' ? this.look.token : this.look.written;
  }

  get rows() {
    return this.translation.rows(this.kind);
  }

  get columns() {
    return this.translation.columns(this.kind);
  }

  get key() {
    return Math.min(this.look.key, this.columns.length - 1);
  }

  get head() {
    return this.look[this.kind].head;
  }

  get layer() {
    return this.look[this.kind].layer;
  }

  /** Variants of words and formulas: result of the experiment; norm placement, positional encoding, scaling of scores. */
  variants() {
    const { norm_first, positions, scale_scores, scale_embedding, activation, beside, closed_waves: closed } = this.model;
    return [
      ...(this.found?.holds ?? []),
      norm_first ? 'pre' : 'post',
      beside ? 'beside' : 'summed',
      positions,
      ...(closed ? ['closed'] : []),
      ...(['alibi', 'relative'].includes(positions) ? ['biased'] : []),
      ['sinusoidal', 'sinusoidal_halves', 'learned'].includes(positions) ? 'added' : 'elsewhere',
      scale_scores ? 'scaled' : 'unscaled',
      scale_embedding ? 'enlarged' : 'plain',
      activation === 'relu' ? 'relu' : 'bent',
    ];
  }

  // ---------------------------------------------------------------- which tensors

  /** The paths that the server is asked for. */
  needs() {
    const shows = this.step.figures.flatMap((figure) => figure.tensors);
    const names = shows.flatMap(({ path, add, subtract }) => [path, add, subtract]).filter(Boolean);
    if (this.kind === 'encoder' && this.step.picks.includes('head')) names.push('scores');
    return [...new Set(names.flatMap((name) => this.paths(name)))];
  }

  paths(name) {
    if (name in DERIVED) return DERIVED[name].map((each) => this.path(each));
    if (name === 'logits') return [LOGITS];
    if (name !== 'stages') return [this.path(name)];
    const layers = Array.from(
      { length: this.translation.layers('encoder') },
      (_, layer) => `encoder.layers.${layer}.around_feed_forward.stream`,
    );
    return ['encoder.embedding.stream', ...layers];
  }

  /** A short name as the path of a probe. */
  path(name) {
    const [layer, attention] = PLACES[this.kind].map((part) => part.replace('{layer}', String(this.layer)));
    if (OF_ATTENTION.includes(name)) return `${layer}.${attention}.${name}`;
    if (OF_LAYER.includes(name)) return `${layer}.${name}`;
    return name.startsWith('around_attention.') ? `${layer}.around_${attention}.${name.split('.')[1]}` : name;
  }

  // ---------------------------------------------------------------- figures

  /** The shows of a figure that this model has. */
  visibleTensors(figure) {
    return figure.tensors.filter(({ visible_if: condition }) => !condition || this.variants().includes(condition));
  }

  /** A show as numbers. @returns {Matrix} */
  matrix(show) {
    let found = this.tensorByName(show.path);
    if (show.add) found = elementwise(found, this.tensorByName(show.add), (one, other) => one + other);
    if (show.subtract) found = elementwise(found, this.tensorByName(show.subtract), (one, other) => one - other);
    if (show.divide_by) found = { ...found, numbers: found.numbers.map((each) => each / this.number(show.divide_by)) };
    return found;
  }

  number(name) {
    const { d_model, head_width, scale_embedding, scale_scores } = this.model;
    return { embedding_scale: scale_embedding ? Math.sqrt(d_model) : 1, divisor: scale_scores ? Math.sqrt(head_width) : 1 }[name];
  }

  /** A tensor by the name of its probe, or one that is computed here. @returns {Matrix} */
  tensorByName(name) {
    if (!this.memo.has(name)) this.memo.set(name, this[`make_${name}`] ? this[`make_${name}`]() : this.serverTensor(name));
    return this.memo.get(name);
  }

  serverTensor(name) {
    return headSlice(this.brought.tensors.get(this.path(name)), this.head);
  }

  make_raw() {
    return products(this.serverTensor('queries'), this.serverTensor('keys'));
  }

  make_scaled() {
    const { numbers, ...raw } = this.tensorByName('raw');
    return { ...raw, numbers: numbers.map((each) => each / this.number('divisor')) };
  }

  make_query() {
    return asRow(rowOf(this.serverTensor('queries'), this.row));
  }

  make_key() {
    return asRow(rowOf(this.serverTensor('keys'), this.key));
  }

  make_products() {
    return elementwise(this.tensorByName('query'), this.tensorByName('key'), (one, other) => one * other);
  }

  /** Which keys a row may look at. */
  allowed(row) {
    if (this.kind === 'decoder') return this.part === 0 ? Array.from(this.columns, (_, column) => column <= row) : null;
    const { hidden = [] } = this.translation;
    return hidden.length ? Array.from(this.columns, (_, column) => !hidden.includes(column)) : null;
  }

  make_weights() {
    const scores = this.serverTensor('scores');
    const numbers = new Float32Array(scores.numbers.length);
    for (let row = 0; row < scores.rows; row++) numbers.set(softmax(rowOf(scores, row), this.allowed(row)), row * scores.columns);
    return { ...scores, numbers };
  }

  make_weighted() {
    const values = this.serverTensor('values');
    const weights = rowOf(this.tensorByName('weights'), this.row);
    return { ...values, numbers: values.numbers.map((each, place) => each * weights[Math.floor(place / values.columns)]) };
  }

  make_mixture() {
    const weighted = this.tensorByName('weighted');
    return asRow(Float32Array.from({ length: weighted.columns }, (_, column) => sum(columnOf(weighted, column))));
  }

  /** All heads side by side, as they enter the output matrix. */
  make_joined() {
    const { shape, numbers } = this.brought.tensors.get(this.path('mixed'));
    const [heads, rows, width] = shape;
    const joined = new Float32Array(numbers.length);
    for (let head = 0; head < heads; head++) {
      for (let row = 0; row < rows; row++)
        joined.set(numbers.subarray((head * rows + row) * width, (head * rows + row + 1) * width), row * heads * width + head * width);
    }
    return { rows, columns: heads * width, numbers: joined };
  }

  /** The selected token before the first and after each layer. */
  make_stages() {
    const stages = this.paths('stages').map((path) => rowOf(headSlice(this.brought.tensors.get(path), 0), this.look.token));
    const numbers = new Float32Array(stages.length * stages[0].length);
    for (const [stage, each] of stages.entries()) numbers.set(each, stage * each.length);
    return { rows: stages.length, columns: stages[0].length, numbers };
  }

  /** The row of logits that the token being written was chosen from. */
  get logits() {
    return this.brought.logits[this.look.written];
  }

  /** The value of a show at the row and dimension in question. */
  value(show) {
    const matrix = this.matrix(show);
    return valueAt(matrix, Math.min(this.row, matrix.rows - 1), Math.min(this.look.dimension, matrix.columns - 1));
  }
}

const asRow = (numbers) => ({ rows: 1, columns: numbers.length, numbers });

export function columnOf({ rows, columns, numbers }, column) {
  return Float32Array.from({ length: rows }, (_, row) => numbers[row * columns + column]);
}
