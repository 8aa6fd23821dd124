// Cache of tensors by sentence and probe path. Each tensor is requested once.

import { decodeArray } from '../core/base64-arrays.js';

const MAX_SENTENCES = 3; // least recently used sentences are deleted

/**
 * @typedef {{ rows: number, columns: number, numbers: Float32Array }} Matrix in row-major order
 * @typedef {import('../core/base64-arrays.js').Tensor} Tensor
 */

/** Loaded tensors of one sentence. */
class SentenceTensors {
  constructor() {
    /** @type {Map<string, Tensor>} */
    this.tensors = new Map();
    /** @type {Map<string, Promise<void>>} */
    this.pending = new Map(); // requests by tensor name
    this.model = null; // sizes and options of the model
    this.logits = null; // per row: the best tokens and a summary of all logits
  }

  has(names) {
    return this.model !== null && names.every((name) => (name === LOGITS ? this.logits : this.tensors.has(name)));
  }
}

export const LOGITS = 'decoder.output.logits';

export class TensorCache {
  /** `request(values)`: the server call for `{ request, names }`. */
  constructor(request) {
    this.request = request;
    this.sentences = new Map();
  }

  /** The cached tensors of a translation. */
  get(translation) {
    const key = JSON.stringify([translation.requestValues(), translation.target.map(({ id }) => id)]);
    const tensors = this.sentences.get(key) ?? new SentenceTensors();
    this.sentences.delete(key);
    this.sentences.set(key, tensors); // moves the sentence to the end, the most recently used position
    for (const oldKey of [...this.sentences.keys()].slice(0, -MAX_SENTENCES)) this.sentences.delete(oldKey);
    return tensors;
  }

  /** Load missing tensors and wait for pending ones. */
  async load(translation, names) {
    const cached = this.get(translation);
    if (cached.has(names)) return cached;
    const missing = names.filter((name) => !cached.has([name]) && !cached.pending.has(name));
    if (missing.length) {
      const request = this.fetch(cached, translation, missing);
      for (const name of missing) cached.pending.set(name, request);
    }
    await Promise.all(names.map((name) => cached.pending.get(name)));
    return cached;
  }

  async fetch(cached, translation, names) {
    try {
      const answer = await this.request({ request: translation.requestValues(), names });
      cached.model = answer.model;
      for (const [name, encoded] of Object.entries(answer.tensors)) cached.tensors.set(name, decodeArray(encoded));
      if (answer.logits) cached.logits = answer.logits;
    } finally {
      for (const name of names) cached.pending.delete(name);
    }
  }
}

// ---------------------------------------------------------------- arithmetic

/** One head of a `[heads, rows, columns]` tensor; a `[rows, columns]` tensor is returned whole. */
export function headSlice({ shape, numbers }, head) {
  if (shape.length === 1) return { rows: 1, columns: numbers.length, numbers };
  const [rows, columns] = shape.slice(-2);
  const size = rows * columns;
  const start = shape.length > 2 ? head * size : 0;
  return { rows, columns, numbers: numbers.subarray(start, start + size) };
}

export const rowNumbers = ({ columns, numbers }, row) => numbers.subarray(row * columns, (row + 1) * columns);
export const valueAt = (matrix, row, column) => matrix.numbers[row * matrix.columns + column];
export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
export const maxAbs = (numbers) => numbers.reduce((largest, number) => Math.max(largest, Math.abs(number)), 0);
export const vectorNorm = (numbers) => Math.sqrt(numbers.reduce((total, number) => total + number * number, 0));
export const mean = (numbers) => sum(numbers) / numbers.length;

export function standardDeviation(numbers) {
  const middle = mean(numbers);
  return Math.sqrt(numbers.reduce((total, number) => total + (number - middle) ** 2, 0) / numbers.length);
}

/** Apply a function to pairs of numbers. */
export function elementwise(a, b, operation) {
  return { rows: a.rows, columns: a.columns, numbers: a.numbers.map((number, index) => operation(number, b.numbers[index])) };
}

/** Dot products of all pairs of rows: `[rows, width]`, `[columns, width]` → `[rows, columns]`. */
export function products(a, b) {
  const numbers = new Float32Array(a.rows * b.rows);
  for (let row = 0; row < a.rows; row++) {
    for (let column = 0; column < b.rows; column++) numbers[row * b.rows + column] = dot(rowNumbers(a, row), rowNumbers(b, column));
  }
  return { rows: a.rows, columns: b.rows, numbers };
}

function dot(a, b) {
  let total = 0;
  for (let index = 0; index < a.length; index++) total += a[index] * b[index];
  return total;
}

/** Softmax of a row; keys that are not allowed have a weight of exactly zero. */
export function softmax(scores, allowed = null) {
  const isAllowed = (index) => !allowed || allowed[index];
  const maxScore = scores.reduce((best, score, index) => (isAllowed(index) ? Math.max(best, score) : best), -Infinity);
  const powers = Array.from(scores, (score, index) => (isAllowed(index) ? Math.exp(score - maxScore) : 0));
  const total = sum(powers);
  return powers.map((power) => power / total);
}
