// Tensors of safetensors files, converted to float32 in the memory of a model.
// `model/checkpoints/storage.py` describes the names: `NAME` with `NAME.scale` in int8 and int4 (U8, two numbers a byte), and
// `NAME.rows.0`, `NAME.rows.1`, … for parts.

import { Kernels, padToTile } from './kernels.js';

const GROUP = 32; // columns of a row that share a scale in int4

/**
 * @typedef {{ dtype: string, shape: number[], data: ArrayBuffer, start: number, end: number }} StoredTensor
 *   `shape`: of the numbers; a byte of int4 has two
 */

/** A file of the folder that cannot be used. `message` names it. */
export class WeightsError extends Error {}

/**
 * The tensors of one file by name.
 * @param {ArrayBuffer} data
 * @param {string} file
 * @returns {[string, StoredTensor][]}
 */
export function readHeader(data, file) {
  const length = data.byteLength < 8 ? -1 : Number(new DataView(data).getBigUint64(0, true));
  if (length < 0 || 8 + length > data.byteLength) throw new WeightsError(file);
  let header;
  try {
    header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 8, length)));
  } catch {
    throw new WeightsError(file);
  }
  delete header.__metadata__;
  const origin = 8 + length;
  return Object.entries(header).map(
    ([
      name,
      {
        dtype,
        shape,
        data_offsets: [start, end],
      },
    ]) => {
      if (origin + end > data.byteLength) throw new WeightsError(file);
      const numbers = dtype === 'U8' ? [...shape.slice(0, -1), 2 * shape.at(-1)] : shape;
      return [name, { dtype, shape: numbers, data, start: origin + start, end: origin + end }];
    },
  );
}

const countNumbers = (shape) => shape.reduce((product, side) => product * side, 1);

/** Half-precision numbers as float32. */
function fromHalf(bits) {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Writes the two numbers of each byte, from -8 to 7: the low half first. */
function unpack(bytes, target) {
  for (let at = 0; at < bytes.length; at++) {
    target[2 * at] = (bytes[at] & 15) - 8;
    target[2 * at + 1] = (bytes[at] >> 4) - 8;
  }
}

/**
 * Copies the numbers of a stored tensor to `target` as float32, without its scale.
 * @param {StoredTensor} tensor
 * @param {Float32Array} target
 */
function copyNumbers({ dtype, data, start, end }, target) {
  const bytes = data.slice(start, end); // aligned
  if (dtype === 'F32') target.set(new Float32Array(bytes));
  else if (dtype === 'I8') target.set(new Int8Array(bytes));
  else if (dtype === 'U8') unpack(new Uint8Array(bytes), target);
  else if (dtype === 'F16') target.set(Float32Array.from(new Uint16Array(bytes), fromHalf));
  else throw new WeightsError(dtype);
}

const countAll = (parts) => parts.reduce((sum, { shape }) => sum + countNumbers(shape), 0);

/** Copies the numbers of the parts of a tensor one after the other. */
function copyParts(parts, target) {
  let at = 0;
  for (const part of parts) {
    const count = countNumbers(part.shape);
    copyNumbers(part, target.subarray(at, at + count));
    at += count;
  }
}

export class Weights {
  /**
   * @param {{ name: string, data: ArrayBuffer }[]} files
   * @param {number} scratch numbers that the model needs besides its weights
   */
  constructor(files, scratch) {
    /** @type {Map<string, StoredTensor>} */
    this.stored = new Map(files.flatMap(({ name, data }) => readHeader(data, name)));
    const total = [...this.stored.values()].reduce(
      (sum, { shape }) => sum + padToTile(shape[0] ?? 1) * countNumbers(shape.slice(1)) + 4,
      0,
    );
    this.kernels = new Kernels(total + scratch);
    /** @type {Map<string, import('./kernels.js').Matrix>} shared matrices */
    this.matrices = new Map();
    /** @type {Map<string, Float32Array>} by name, without the zeros at their end */
    this.vectors = new Map();
  }

  has(name) {
    return this.stored.has(name) || this.stored.has(`${name}.rows.0`);
  }

  parts(name) {
    if (this.stored.has(name)) return [this.stored.get(name)];
    const parts = [];
    while (this.stored.has(`${name}.rows.${parts.length}`)) parts.push(this.stored.get(`${name}.rows.${parts.length}`));
    if (!parts.length) throw new WeightsError(name);
    return parts;
  }

  /** A vector, or null if the model has none of this name. */
  vector(name) {
    if (!this.has(name)) return null;
    const parts = this.parts(name);
    const length = countAll(parts);
    const vector = this.kernels.allocate(padToTile(length));
    copyParts(parts, vector);
    this.vectors.set(name, vector.subarray(0, length));
    return vector;
  }

  /**
   * The matrix `NAME.weight` with its bias. Equal names share one matrix.
   * @returns {import('./kernels.js').Matrix}
   */
  matrix(name) {
    const known = this.matrices.get(name);
    if (known) return known;
    const parts = this.parts(`${name}.weight`);
    const inputs = parts[0].shape[1];
    const outputs = parts.reduce((sum, { shape }) => sum + shape[0], 0);
    const stride = padToTile(outputs);
    const weights = this.kernels.allocate(stride * inputs);
    copyParts(parts, weights);
    const columns = { I8: inputs, U8: GROUP }[parts[0].dtype];
    if (columns) this.rescale(`${name}.weight.scale`, weights.subarray(0, outputs * inputs), columns);
    const matrix = { weights, outputs, stride, inputs, bias: this.vector(`${name}.bias`) };
    this.matrices.set(name, matrix);
    return matrix;
  }

  /** Multiplies each row, or each group of a row, by its scale. All have `columns` numbers. */
  rescale(name, weights, columns) {
    const parts = this.parts(name);
    const scales = new Float32Array(countAll(parts));
    if (scales.length * columns !== weights.length) throw new WeightsError(name);
    copyParts(parts, scales);
    for (let group = 0, at = 0; group < scales.length; group++)
      for (let column = 0; column < columns; column++) weights[at++] *= scales[group];
  }
}
