// Converts the named arrays of a file to one array per kind, [layers, heads, rows, columns].

import { FileError, MAX_WEIGHTS } from './npz.js';

export const MAX_HEADS = 6_000; // heads of one kind, in all layers
export const MAX_TOKENS = 4_096; // rows or columns of a map

/** Kinds by array name, for Headlight and `transformers` outputs. If a kind has several arrays, the first is used. */
const KINDS_BY_NAME = {
  encoder: 'encoder',
  encoder_attentions: 'encoder',
  decoder: 'decoder',
  decoder_attentions: 'decoder',
  cross: 'cross',
  cross_attentions: 'cross',
  self: 'self',
  attentions: 'self',
  attention: 'self',
};
const LAYER_NAME = /^(?:(.*?\D)[_.-]?)?(\d+)$/; // attentions_0, layer.0, or arr_0 of np.savez
const KINDS_BY_LAYER_NAME = { ...KINDS_BY_NAME, layer: 'self', layers: 'self', arr: 'self' };

/** Kind of an array by its name, and its layer if the array has a single layer; null for other names. */
export function parseKind(name) {
  if (Object.hasOwn(KINDS_BY_NAME, name)) return { kind: KINDS_BY_NAME[name], layer: null };
  const [, base = 'layer', layer] = name.match(LAYER_NAME) ?? [];
  return layer !== undefined && Object.hasOwn(KINDS_BY_LAYER_NAME, base) ? { kind: KINDS_BY_LAYER_NAME[base], layer: Number(layer) } : null;
}

/**
 * @typedef {{ shape: number[], numbers: Float32Array }} NumberArray
 * @param {Record<string, NumberArray>} arrays
 * @returns {Record<string, NumberArray>}
 */
export function groupByKind(arrays) {
  const names = Object.keys(arrays).filter((name) => parseKind(name) && arrays[name].numbers.length);
  const arraysByKind = {};
  for (const kind of new Set(Object.values(KINDS_BY_NAME))) {
    const wholeName = Object.keys(KINDS_BY_NAME).find((name) => KINDS_BY_NAME[name] === kind && names.includes(name));
    const layers = names.filter((name) => parseKind(name).kind === kind && parseKind(name).layer !== null);
    layers.sort((a, b) => parseKind(a).layer - parseKind(b).layer);
    if (wholeName) arraysByKind[kind] = removeBatchAxis(kind, arrays[wholeName]);
    else if (layers.length)
      arraysByKind[kind] = stackLayers(
        kind,
        layers.map((name) => arrays[name]),
      );
  }
  return arraysByKind;
}

/** Validates an array [layers, heads, rows, columns]. Removes the batch axis of 1 of stacked outputs [layers, 1, heads, …]. */
function removeBatchAxis(kind, { shape, numbers }) {
  const [layers, batch, ...map] = shape;
  if (shape.length !== 5) return validate(kind, { shape, numbers });
  if (batch !== 1) throw new FileError('batch', { kind, count: batch });
  return validate(kind, { shape: [layers, ...map], numbers });
}

/** Stacks arrays [heads, rows, columns] or [1, heads, rows, columns], one per layer. A single array may contain all layers. */
function stackLayers(kind, layers) {
  const [{ shape }] = layers;
  const isWhole = layers.length === 1 && (shape.length === 5 || (shape.length === 4 && shape[0] !== 1));
  if (isWhole) return removeBatchAxis(kind, layers[0]);
  if (layers.some((layer) => String(layer.shape) !== String(shape))) throw new FileError('ragged', { kind });
  if (shape.length === 4 && shape[0] !== 1) throw new FileError('batch', { kind, count: shape[0] });
  const size = layers[0].numbers.length;
  const stack = { shape: [layers.length, ...shape.slice(shape.length === 4 ? 1 : 0)], numbers: new Float32Array(0) };
  if (size * layers.length <= MAX_WEIGHTS) {
    stack.numbers = new Float32Array(size * layers.length);
    for (const [layer, { numbers }] of layers.entries()) stack.numbers.set(numbers, layer * size);
  }
  return validate(kind, stack);
}

function validate(kind, array) {
  const { shape } = array;
  if (shape.reduce((product, size) => product * size, 1) > MAX_WEIGHTS) throw new FileError('too_many', { limit: MAX_WEIGHTS / 1e6 });
  if (shape.length !== 4) throw new FileError('shape', { kind, shape: shape.join(' × ') });
  const heads = shape[0] * shape[1];
  if (heads > MAX_HEADS) throw new FileError('many_heads', { kind, count: heads, limit: MAX_HEADS });
  const tokens = Math.max(shape[2], shape[3]);
  if (tokens > MAX_TOKENS) throw new FileError('many_tokens', { kind, count: tokens, limit: MAX_TOKENS });
  return array;
}

/** Converts nested lists to an array. Throws if they are ragged. `kind`: named in the error. */
export function flattenLists(lists, kind) {
  const shape = [];
  for (let inner = lists; Array.isArray(inner) && shape.length < 6; inner = inner[0]) shape.push(inner.length);
  const count = shape.reduce((product, size) => product * size, 1);
  if (count > MAX_WEIGHTS) throw new FileError('too_many', { limit: MAX_WEIGHTS / 1e6 });
  const numbers = new Float32Array(count);
  let index = 0;
  const copyNested = (inner, depth) => {
    if (depth === shape.length) {
      numbers[index++] = typeof inner === 'number' ? inner : NaN;
      return;
    }
    if (!Array.isArray(inner) || inner.length !== shape[depth]) throw new FileError('ragged', { kind });
    for (const element of inner) copyNested(element, depth + 1);
  };
  copyNested(lists, 0);
  return { shape, numbers };
}
