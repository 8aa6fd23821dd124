// Tensors of the visitor's sentence by the paths of their probes: asked for once, kept while the sentence is there.

import { decodeArray } from '../core/base64-arrays.js';

const KEPT = 3; // sentences

/**
 * @typedef {{ rows: number, columns: number, numbers: Float32Array }} Matrix row by row
 * @typedef {import('../core/base64-arrays.js').Tensor} Tensor
 */

/** What one sentence has brought so far. */
class SentenceTensors {
  constructor() {
    /** @type {Map<string, Tensor>} */
    this.tensors = new Map();
    /** @type {Map<string, Promise<void>>} */
    this.waiting = new Map();
    this.model = null; // its sizes, and how it is built
    this.logits = null; // of each row: its best tokens, and how all are spread
  }

  has(names) {
    return this.model !== null && names.every((name) => (name === LOGITS ? this.logits : this.tensors.has(name)));
  }
}

export const LOGITS = 'decoder.output.logits';

export class TensorCache {
  /** `ask(values)`: the server's answer to `{ request, names }`. */
  constructor(ask) {
    this.ask = ask;
    this.sentences = new Map();
  }

  /** What there is of a translation. */
  of(translation) {
    const key = JSON.stringify([translation.requestValues(), translation.target.map(({ id }) => id)]);
    const found = this.sentences.get(key) ?? new SentenceTensors();
    this.sentences.delete(key);
    this.sentences.set(key, found); // the one used last leaves last
    for (const old of [...this.sentences.keys()].slice(0, -KEPT)) this.sentences.delete(old);
    return found;
  }

  /** Load missing tensors and wait for pending ones. */
  async load(translation, names) {
    const brought = this.of(translation);
    const missing = names.filter((name) => !brought.has([name]) && !brought.waiting.has(name));
    if (missing.length) {
      const work = this.fetch(brought, translation, missing);
      for (const name of missing) brought.waiting.set(name, work);
    }
    await Promise.all(names.map((name) => brought.waiting.get(name)));
    return brought;
  }

  async fetch(brought, translation, names) {
    try {
      const answer = await this.ask({ request: translation.requestValues(), names });
      brought.model = answer.model;
      for (const [name, sent] of Object.entries(answer.tensors)) brought.tensors.set(name, decodeArray(sent));
      if (answer.logits) brought.logits = answer.logits;
    } finally {
      for (const name of names) brought.waiting.delete(name);
    }
  }
}

// ---------------------------------------------------------------- arithmetic

/** One head of `[heads, rows, columns]`, or all of `[rows, columns]`. */
export function headSlice({ shape, numbers }, head) {
  const [rows, columns] = shape.slice(-2);
  const size = rows * columns;
  const start = shape.length > 2 ? head * size : 0;
  return { rows, columns, numbers: numbers.subarray(start, start + size) };
}

export const rowOf = ({ columns, numbers }, row) => numbers.subarray(row * columns, (row + 1) * columns);
export const valueAt = (matrix, row, column) => matrix.numbers[row * matrix.columns + column];
export const sum = (numbers) => numbers.reduce((all, each) => all + each, 0);
export const maxAbs = (numbers) => numbers.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
export const vectorNorm = (numbers) => Math.sqrt(numbers.reduce((all, each) => all + each * each, 0));
export const mean = (numbers) => sum(numbers) / numbers.length;

export function standardDeviation(numbers) {
  const middle = mean(numbers);
  return Math.sqrt(numbers.reduce((all, each) => all + (each - middle) ** 2, 0) / numbers.length);
}

/** Number by number. */
export function elementwise(one, other, act) {
  return { rows: one.rows, columns: one.columns, numbers: one.numbers.map((each, place) => act(each, other.numbers[place])) };
}

/** Every row of one with every row of the other: `[rows, width]`, `[columns, width]` → `[rows, columns]`. */
export function products(one, other) {
  const numbers = new Float32Array(one.rows * other.rows);
  for (let row = 0; row < one.rows; row++) {
    for (let column = 0; column < other.rows; column++) numbers[row * other.rows + column] = dot(rowOf(one, row), rowOf(other, column));
  }
  return { rows: one.rows, columns: other.rows, numbers };
}

function dot(one, other) {
  let all = 0;
  for (let place = 0; place < one.length; place++) all += one[place] * other[place];
  return all;
}

/** Shares of a row; of keys that are not allowed, exactly zero. */
export function softmax(scores, allowed = null) {
  const open = (place) => !allowed || allowed[place];
  const most = scores.reduce((best, each, place) => (open(place) ? Math.max(best, each) : best), -Infinity);
  const powers = Array.from(scores, (each, place) => (open(place) ? Math.exp(each - most) : 0));
  const total = sum(powers);
  return powers.map((each) => each / total);
}
