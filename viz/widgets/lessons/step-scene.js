// One step with its tensors. The browser derives some of them from queries, keys and values, so that a change of head
// or token needs no request.

import { LOGITS, valueAt, elementwise, products, rowNumbers, headSlice, softmax, sum } from './tensor-cache.js';

const PROBE_PATHS = {
  encoder: ['encoder.layers.{layer}', 'self_attention'],
  decoder: ['decoder.layers.{layer}', 'self_attention'],
  cross: ['decoder.layers.{layer}', 'cross_attention'],
};
const ATTENTION_TENSORS = ['queries', 'keys', 'values', 'scores', 'mixed', 'attended'];
const LAYER_TENSORS = ['feed_forward.hidden', 'feed_forward.output'];
const HEAD_TENSORS = ['queries', 'keys', 'values'];
const NORM_PARAMETERS = { gamma: 'norm.weight', beta: 'norm.bias' };
export const GATED = new Set(['swiglu', 'geglu', 'reglu']);

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
   * @param {any} step the step's data from the server
   * @param {import('../core/translation.js').Translation} translation
   * @param {any} look the resolved selection (lesson-link.js)
   * @param {any} tensors cached tensors of this sentence
   * @param {any} result the result of the step's experiment, if it has one
   */
  constructor(step, translation, look, tensors, part = 0, result = null) {
    this.step = step;
    this.translation = translation;
    this.look = look;
    this.sentenceTensors = tensors;
    this.part = part;
    this.result = result;
    this.kind = step.kind;
    this.model = tensors.model ?? result?.model;
    this.memo = new Map();
  }

  /** The selected row: a source token, or the target token that is being generated. */
  get row() {
    return this.kind === 'encoder' ? this.look.token : this.look.written;
  }

  get rows() {
    return this.translation.rows(this.kind);
  }

  get columns() {
    return this.translation.columns(this.kind);
  }

  /** The rows with their names: a row of the decoder reads the token before the one that it writes. */
  get rowItems() {
    const { translation, kind } = this;
    return this.rows.map((token, row) => ({ ...token, read: kind === 'encoder' ? null : translation.previousToken(kind, row) }));
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

  /** Applicable variants of phrases and formulas, from the experiment's result and the model. */
  variants() {
    const { norm_first, norm, positions, scale_scores, scale_embedding, activation, beside, closed_waves: closed } = this.model;
    return [
      ...(this.result?.holds ?? []),
      ...(this.kind === 'decoder' && this.step.parts?.[this.part] === 'without' ? ['unmasked'] : []),
      norm === 'rms' ? 'rms' : 'layer',
      norm_first ? 'pre' : 'post',
      beside ? 'beside' : 'summed',
      positions,
      ...(closed ? ['closed'] : []),
      ...(['alibi', 'relative'].includes(positions) ? ['biased'] : []),
      ['sinusoidal', 'sinusoidal_halves', 'learned'].includes(positions) ? 'added' : 'elsewhere',
      scale_scores ? 'scaled' : 'unscaled',
      scale_embedding ? 'enlarged' : 'plain',
      activation === 'relu' ? 'relu' : 'bent',
      ...(GATED.has(activation) ? ['gated'] : []),
    ];
  }

  // ---------------------------------------------------------------- tensors to load

  /** Paths of the tensors that the step needs from the server. */
  requiredPaths() {
    const tensors = this.step.figures.flatMap((figure) => figure.tensors);
    const names = tensors.flatMap(({ path, add, subtract }) => [path, add, subtract]).filter(Boolean);
    if (this.kind === 'encoder' && this.step.picks.includes('head')) names.push('scores');
    const products = this.visibleProducts().flatMap((product) => this.productPaths(product));
    return [...new Set([...names.flatMap((name) => this.paths(name)), ...products])];
  }

  paths(name) {
    if (name in DERIVED) return DERIVED[name].map((input) => this.path(input));
    if (name === 'logits') return [LOGITS];
    if (name !== 'stages') return [this.path(name)];
    const layers = Array.from(
      { length: this.translation.layers('encoder') },
      (_, layer) => `encoder.layers.${layer}.around_feed_forward.stream`,
    );
    return ['encoder.embedding.stream', ...layers];
  }

  /** Probe path of a tensor name. */
  path(name) {
    const [layer, attention] = PROBE_PATHS[this.kind].map((part) => part.replace('{layer}', String(this.layer)));
    if (ATTENTION_TENSORS.includes(name)) return `${layer}.${attention}.${name}`;
    if (LAYER_TENSORS.includes(name)) return `${layer}.${name}`;
    if (name === 'attention_input') return `${layer}.around_${attention}.${this.model.norm_first ? 'normed' : 'carried'}`;
    if (name === 'feed_forward_input') return `${layer}.around_feed_forward.${this.model.norm_first ? 'normed' : 'carried'}`;
    if (!name.startsWith('around_attention.')) return name;
    const part = name.split('.')[1];
    return `${layer}.around_${attention}.${NORM_PARAMETERS[part] ?? part}`;
  }

  // ---------------------------------------------------------------- products

  /** Products x·W of the step that this model computes; none until the model is known. */
  visibleProducts() {
    const { products = [] } = this.step;
    return this.model ? products.filter(({ visible_if: condition }) => !condition || this.variants().includes(condition)) : [];
  }

  /** Path of a product's linear layer. */
  weightPath({ weight }) {
    return weight.startsWith('decoder.') ? weight : `${PROBE_PATHS[this.kind][0].replace('{layer}', String(this.layer))}.${weight}`;
  }

  /** Index of the column of W: of the selected dimension, in the selected head, or of the written token. */
  productColumn({ output, weight, column }) {
    if (column === 'written') return this.translation.target[this.look.written].id;
    const { d_model, d_ff, head_width } = this.model;
    if (HEAD_TENSORS.includes(output)) return this.head * head_width + Math.min(this.look.dimension, head_width - 1);
    const width = output === 'feed_forward.hidden' || weight === 'feed_forward.gate' ? d_ff : d_model;
    return Math.min(this.look.dimension, width - 1);
  }

  hasBias({ weight }) {
    const { attention_bias: attention, feed_forward_bias: feedForward, final_logits_bias: logits } = this.model;
    return weight.startsWith('decoder.output') ? logits : weight.startsWith('feed_forward') ? feedForward : attention;
  }

  productPaths(product) {
    const [path, column] = [this.weightPath(product), this.productColumn(product)];
    const results = product.output ? this.paths(product.output) : [];
    const bias = this.hasBias(product) ? [`${path}.bias[${column}]`] : [];
    return [...this.paths(product.row), ...results, `${path}.weight[${column}]`, ...bias];
  }

  /** One product: the row x, the column of W, the bias, the sum, and the cell of the figure that shows the result. */
  product(product) {
    const [path, column] = [this.weightPath(product), this.productColumn(product)];
    const input = this.tensorByName(product.row);
    const scale = product.column === 'written' && this.model.scale_output ? this.model.d_model ** -0.5 : 1;
    const row = rowNumbers(input, this.row).map((number) => number * scale);
    const weights = this.sentenceTensors.tensors.get(`${path}.weight[${column}]`).numbers;
    const terms = row.map((number, index) => number * weights[index]);
    const bias = this.hasBias(product) ? this.sentenceTensors.tensors.get(`${path}.bias[${column}]`).numbers[0] : null;
    const output = product.output ? this.tensorByName(product.output) : null;
    const cell = output && valueAt(output, this.row, Math.min(column % output.columns, output.columns - 1));
    const index = HEAD_TENSORS.includes(product.output) ? column % this.model.head_width : column; // in the figure
    return { row, weights, terms, bias, column, index, total: sum(terms) + (bias ?? 0), cell };
  }

  // ---------------------------------------------------------------- figures

  /** Tensors of a figure whose condition this model meets. */
  visibleTensors(figure) {
    return figure.tensors.filter(({ visible_if: condition }) => !condition || this.variants().includes(condition));
  }

  /** The numbers of a figure's tensor. @returns {Matrix} */
  matrix(show) {
    let matrix = this.tensorByName(show.path);
    if (show.add) matrix = elementwise(matrix, this.tensorByName(show.add), (a, b) => a + b);
    if (show.subtract) matrix = elementwise(matrix, this.tensorByName(show.subtract), (a, b) => a - b);
    if (show.divide_by) matrix = { ...matrix, numbers: matrix.numbers.map((number) => number / this.number(show.divide_by)) };
    return matrix;
  }

  number(name) {
    const { d_model, head_width, scale_embedding, scale_scores } = this.model;
    return { embedding_scale: scale_embedding ? Math.sqrt(d_model) : 1, divisor: scale_scores ? Math.sqrt(head_width) : 1 }[name];
  }

  /** A tensor by name, from the server or derived. @returns {Matrix} */
  tensorByName(name) {
    if (!this.memo.has(name)) this.memo.set(name, this[`make_${name}`] ? this[`make_${name}`]() : this.serverTensor(name));
    return this.memo.get(name);
  }

  serverTensor(name) {
    return headSlice(this.sentenceTensors.tensors.get(this.path(name)), this.head);
  }

  make_raw() {
    return products(this.serverTensor('queries'), this.serverTensor('keys'));
  }

  make_scaled() {
    const { numbers, ...raw } = this.tensorByName('raw');
    return { ...raw, numbers: numbers.map((number) => number / this.number('divisor')) };
  }

  make_query() {
    return asRow(rowNumbers(this.serverTensor('queries'), this.row));
  }

  make_key() {
    return asRow(rowNumbers(this.serverTensor('keys'), this.key));
  }

  make_products() {
    return elementwise(this.tensorByName('query'), this.tensorByName('key'), (a, b) => a * b);
  }

  /** For each key, whether a row may attend to it; null if all are allowed. */
  allowed(row) {
    if (this.kind === 'decoder') return this.part === 0 ? Array.from(this.columns, (_, column) => column <= row) : null;
    const { hidden = [] } = this.translation;
    return hidden.length ? Array.from(this.columns, (_, column) => !hidden.includes(column)) : null;
  }

  make_weights() {
    const scores = this.serverTensor('scores');
    const numbers = new Float32Array(scores.numbers.length);
    for (let row = 0; row < scores.rows; row++) numbers.set(softmax(rowNumbers(scores, row), this.allowed(row)), row * scores.columns);
    return { ...scores, numbers };
  }

  make_weighted() {
    const values = this.serverTensor('values');
    const weights = rowNumbers(this.tensorByName('weights'), this.row);
    return { ...values, numbers: values.numbers.map((number, index) => number * weights[Math.floor(index / values.columns)]) };
  }

  make_mixture() {
    const weighted = this.tensorByName('weighted');
    return asRow(Float32Array.from({ length: weighted.columns }, (_, column) => sum(columnNumbers(weighted, column))));
  }

  /** All heads concatenated, the input of the output matrix. */
  make_joined() {
    const { shape, numbers } = this.sentenceTensors.tensors.get(this.path('mixed'));
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
    const stages = this.paths('stages').map((path) => rowNumbers(headSlice(this.sentenceTensors.tensors.get(path), 0), this.look.token));
    const numbers = new Float32Array(stages.length * stages[0].length);
    for (const [stage, vector] of stages.entries()) numbers.set(vector, stage * vector.length);
    return { rows: stages.length, columns: stages[0].length, numbers };
  }

  /** The row of logits that the selected target token was chosen from. */
  get logits() {
    return this.sentenceTensors.logits[this.look.written];
  }

  /** The value of a tensor at the selected row and dimension. */
  value(show) {
    const matrix = this.matrix(show);
    return valueAt(matrix, Math.min(this.row, matrix.rows - 1), Math.min(this.look.dimension, matrix.columns - 1));
  }
}

const asRow = (numbers) => ({ rows: 1, columns: numbers.length, numbers });

export function columnNumbers({ rows, columns, numbers }, column) {
  return Float32Array.from({ length: rows }, (_, row) => numbers[row * columns + column]);
}
