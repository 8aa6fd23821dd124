// A translation from the server: tokens and attention weights.

import { decodeWeights, decodeCausalWeights, MAX_LEVEL } from './weight-decoding.js';
import { languageTag } from './language-tags.js';

/** @type {Kind[]} */
export const KINDS = ['encoder', 'decoder', 'cross'];

/** Whether an axis of a kind has source or target tokens. */
export const axisSide = (kind, axis) =>
  ['encoder', 'self'].includes(kind) || (kind === 'cross' && axis === 'columns') ? 'source' : 'target';

/**
 * @typedef {import('messages').Answer} Answer
 * @typedef {import('messages').AnswerModel} AnswerModel
 * @typedef {Omit<import('messages').RequestValues, 'options'> & { options: Partial<import('messages').DecodingOptions> }} Request
 *
 * @typedef {Pick<Answer, 'source' | 'source_text' | 'target' | 'text' | 'start'>
 *   & Partial<Omit<Answer, 'model' | 'attention' | 'request'>>
 *   & {
 *     model: Partial<AnswerModel> & Pick<AnswerModel, 'name' | 'source' | 'target' | 'best_head'>,
 *     attention: Partial<Answer['attention']>, request?: Request, live?: boolean,
 *   }} AnswerValues the fields of an answer that views use
 *
 * @typedef {Partial<import('messages').TokenValues> & Pick<import('messages').TokenValues, 'label' | 'start' | 'end'>
 *   & { key?: string, unknown?: boolean }} Token `key` is unique in the view: `s3` (source), `t0` (target), `b` (start token)
 *
 * @typedef {'encoder' | 'decoder' | 'cross' | 'self'} Kind of attention; models with a single stack only have "self"
 * @typedef {number | 'mean'} LayerChoice
 * @typedef {number | 'mean' | 'max'} HeadChoice
 * @typedef {{ shape: number[], numbers: Uint16Array }} Tensor of all maps of a kind: [layers, heads, rows, columns]
 * @typedef {{ weights: Float32Array, rows: number, columns: number }} AttentionMap in row-major order; NaN if masked
 */

/** @type {Request} placeholder of recordings, which were not requested */
const NO_REQUEST = { text: '', model: '', options: {}, target: null, prefix: null, source_language: '', target_language: '' };

export class Translation {
  request = NO_REQUEST;
  text = '';
  source_text = '';
  /** @type {Answer['hidden']} */
  hidden;
  /** @type {Answer['hint']} */
  hint;
  /** @type {Answer['opening'] | undefined} */
  opening;
  /** @type {Answer['late'] | undefined} */
  late;
  /** @type {any} roles by kind, `[layer][head]`: name, share, and effective number of tokens per row */
  roles;
  /** @type {Record<string, Record<string, import('messages').MeasureValues>> | undefined} by kind and name (`measures.js`) */
  measures;
  /** @type {Answer['hypotheses']} */
  hypotheses = [];
  /** @type {Answer['reliability'] | undefined} */
  reliability;
  /** @type {Answer['way_back']} */
  way_back;
  /** @type {Answer['cached']} */
  cached;
  /** @type {boolean} whether its back-translation is pending */
  isReadingBack = false;
  /** @type {string[]} how the model read the sentence if not as typed */
  adaptations = [];
  log_probability = 0;
  seconds = 0;
  device = '';
  /** @type {boolean} translated while the visitor was typing */
  live = false;

  /** @param {AnswerValues} values */
  constructor({ attention, ...values }) {
    Object.assign(this, values);
    const { source, target } = values.model;
    this.model = { ...values.model, source: languageTag(source), target: languageTag(target) };
    const unknown = new Set(values.unknown);
    const sourceTokens = withPositions(values.source, values.source_text);
    this.source = sourceTokens.map((token, position) => ({
      ...token,
      key: `s${position}`,
      ...(unknown.has(position) ? { unknown: true } : {}),
    }));
    this.target = withPositions(values.target, values.text).map((token, index) => ({ ...token, key: `t${index}` }));
    this.start = { ...values.start, key: 'b' };
    /** @type {Partial<Record<Kind, Tensor>>} */
    this.tensors = {};
    for (const kind of KINDS) if (attention[kind]) this.tensors[kind] = decodeTensor(kind, attention[kind]);
    /** @type {Map<string, AttentionMap>} */
    this.maps = new Map();
    /** @type {Map<string, Uint16Array | Uint32Array>} */
    this.gatheredMaps = new Map();
  }

  /** Whether the hypotheses were reranked with a reverse model. */
  get isReadBack() {
    return this.hypotheses.some(({ reverse_score: score }) => score !== null);
  }

  /** Whether the reranking changed which hypothesis is best. */
  get isOverruled() {
    const isBetter = (a, b) => (a.ended === b.ended ? a.score > b.score : a.ended);
    return this.isReadBack && this.hypotheses.some((hypothesis) => isBetter(hypothesis, this.hypotheses[0]));
  }

  /** The request in the server's format, with the options as top-level values. */
  requestValues() {
    const { options, ...request } = this.request;
    const { alternatives, ...choices } = options;
    return { ...request, ...choices };
  }

  /**
   * All maps of a kind, which this translation must have.
   * @param {Kind} kind
   */
  tensor(kind) {
    const tensor = this.tensors[kind];
    if (!tensor) throw new Error(`There are no maps of the kind ${kind}.`);
    return tensor;
  }

  /** @param {Kind} kind */
  layers(kind) {
    return this.tensor(kind).shape[0];
  }

  /** @param {Kind} kind */
  heads(kind) {
    return this.tensor(kind).shape[1];
  }

  rows(kind) {
    return axisSide(kind, 'rows') === 'source' ? this.source : this.target;
  }

  columns(kind) {
    return kind === 'decoder' ? [this.start, ...this.target.slice(0, -1)] : this.source;
  }

  /** The token whose state is the query of a row: in the decoder, the token before the written one. */
  previousToken(kind, row) {
    if (kind === 'encoder') return this.source[row];
    return row ? this.target[row - 1] : this.start;
  }

  /**
   * The map of one head, or the mean or maximum over heads and layers. Cached.
   * @param {Kind} kind
   * @param {LayerChoice} layer
   * @param {HeadChoice} head
   * @returns {AttentionMap}
   */
  map(kind, layer, head) {
    const key = `${kind} ${layer} ${head}`;
    const map = this.maps.get(key) ?? this.computeMap(kind, layer, head);
    this.maps.set(key, map);
    return map;
  }

  computeMap(kind, layer, head) {
    const [layers, heads, rows, columns] = this.tensor(kind).shape;
    const numbers = this.gather(kind, layer, head);
    const maxLevel = MAX_LEVEL * (layer === 'mean' && head !== 'max' ? layers : 1) * (head === 'mean' ? heads : 1);
    const weights = new Float32Array(numbers.length);
    for (let cell = 0; cell < weights.length; cell++) weights[cell] = numbers[cell] / maxLevel;
    this.mask(kind, { weights, rows, columns });
    return { weights, rows, columns };
  }

  /**
   * The map of one head as integers, or the sum or maximum over heads and layers. Sums and maxima are cached;
   * those over all layers reuse those of each layer.
   * @param {Kind} kind
   * @param {LayerChoice} layer
   * @param {HeadChoice} head
   * @returns {Uint16Array | Uint32Array}
   */
  gather(kind, layer, head) {
    const { shape, numbers } = this.tensor(kind);
    const [layers, heads, rows, columns] = shape;
    const size = rows * columns;
    if (typeof layer === 'number' && typeof head === 'number') {
      const first = (layer * heads + head) * size;
      return numbers.subarray(first, first + size);
    }
    const key = `${kind} ${layer} ${head}`;
    const cached = this.gatheredMaps.get(key);
    if (cached) return cached;
    const maps =
      layer === 'mean'
        ? Array.from({ length: layers }, (_, index) => this.gather(kind, index, head))
        : Array.from({ length: heads }, (_, index) => this.gather(kind, layer, index));
    const result = head === 'max' ? maximiseMaps(maps, size) : sumMaps(maps, size);
    this.gatheredMaps.set(key, result);
    return result;
  }

  /** Whether maps of this kind are causal: a row has no weights on later tokens. */
  masked(kind) {
    return kind === 'decoder';
  }

  /** Sets masked cells to NaN. */
  mask(kind, { weights, rows, columns }) {
    if (kind === 'decoder') {
      for (let row = 0; row < rows; row++) weights.fill(NaN, row * columns + row + 1, (row + 1) * columns);
    } else {
      for (const column of this.hidden ?? []) for (let row = 0; row < rows; row++) weights[row * columns + column] = NaN;
    }
  }
}

/**
 * All maps of a kind, decoded on first use.
 * @param {Kind} kind
 * @param {import('messages').EncodedTensor} encoded
 * @returns {Tensor}
 */
function decodeTensor(kind, { shape, letters }) {
  /** @type {Uint16Array | null} */
  let numbers = null;
  return {
    shape,
    get numbers() {
      numbers ??= kind === 'decoder' ? decodeCausalWeights(letters, shape) : decodeWeights(letters);
      letters = '';
      return numbers;
    },
  };
}

/** The sum of each cell over all maps. */
function sumMaps(maps, size) {
  const sums = new Uint32Array(size);
  for (const map of maps) for (let cell = 0; cell < size; cell++) sums[cell] += map[cell];
  return sums;
}

/** The maximum of each cell over all maps. */
function maximiseMaps(maps, size) {
  const maxima = new Uint16Array(size);
  for (const map of maps) for (let cell = 0; cell < size; cell++) if (map[cell] > maxima[cell]) maxima[cell] = map[cell];
  return maxima;
}

/** The other tokens of a step with their IDs and probabilities, [label, id, probability], most probable first. */
export const otherTokens = (token) => (token.alternatives ?? []).filter(([, id]) => id !== token.id);

/** A token's text in the sentence, without the symbols for spaces of its label; the label if it is special or has no text. */
export function getTokenText(token, text) {
  const sentenceText = text.slice(token.start, token.end);
  return token.special ? token.label : sentenceText.trim() || sentenceText || token.label;
}

/**
 * Converts token positions from the server's code points to UTF-16 code units, for `slice`.
 * @param {Token[]} tokens
 * @param {string} text
 */
export function withPositions(tokens, text) {
  let offset = 0;
  const starts = [offset, ...Array.from(text, (character) => (offset += character.length))];
  return tokens.map((token) => ({ ...token, start: starts[token.start], end: starts[token.end] }));
}
