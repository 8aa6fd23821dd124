// Memory of one model and the matrix products over it.

import { moduleBytes } from './simd-module.js';

const PAGE_BYTES = 65_536;
const FLOAT_BYTES = 4;
const TILE = 4; // matrices have a multiple of this many rows and columns

export const padToTile = (count) => Math.ceil(count / TILE) * TILE;

/** @type {WebAssembly.Module | null} compiled once for all models */
let compiled = null;

export class Kernels {
  /** `floats`: numbers that all later calls of `allocate` may take together. */
  constructor(floats) {
    this.memory = new WebAssembly.Memory({ initial: Math.ceil((floats * FLOAT_BYTES) / PAGE_BYTES) + 1 });
    compiled ??= new WebAssembly.Module(moduleBytes());
    const { exports } = new WebAssembly.Instance(compiled, { env: { memory: this.memory } });
    this.product = /** @type {(...numbers: number[]) => void} */ (exports.product);
    this.transposed = /** @type {(...numbers: number[]) => void} */ (exports.transposed);
    this.used = 0;
  }

  /** A new array in this memory. It is valid as long as the model. */
  allocate(length) {
    const array = new Float32Array(this.memory.buffer, this.used, length);
    this.used += padToTile(length) * FLOAT_BYTES;
    return array;
  }

  /**
   * y = x Wᵀ + b for `rows` rows of x. All arrays are in this memory; a row of y has `matrix.stride` numbers.
   * @param {Float32Array} x
   * @param {number} rows
   * @param {Matrix} matrix
   * @param {Float32Array} y
   */
  multiply(x, rows, { weights, stride, inputs, bias }, y) {
    this.product(x.byteOffset, rows, weights.byteOffset, stride, inputs, y.byteOffset);
    if (!bias) return;
    for (let row = 0, at = 0; row < rows; row++) for (let output = 0; output < stride; output++) y[at++] += bias[output];
  }

  /**
   * y = x W: the gradient of a product's input from the gradient of its output. All arrays are in this memory; a row of x
   * has `matrix.stride` numbers.
   * @param {Float32Array} x
   * @param {number} rows
   * @param {Matrix} matrix
   * @param {Float32Array} y
   */
  multiplyTransposed(x, rows, { weights, stride, inputs }, y) {
    y.fill(0, 0, rows * inputs);
    this.transposed(x.byteOffset, rows, weights.byteOffset, stride, inputs, y.byteOffset);
  }
}

/**
 * @typedef {{ weights: Float32Array, outputs: number, stride: number, inputs: number, bias: Float32Array | null }} Matrix
 *   `[stride, inputs]` in row-major order: `outputs` rows, then rows of zeros up to a multiple of four
 */
