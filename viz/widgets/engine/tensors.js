// The tensors of a lesson's step, by their paths in Python: `viz/lessons/tensors.py`.

import { encodeArray } from './array-encoding.js';
import { attentionPath, isAllowed } from './attention.js';
import { Fault } from './fault.js';
import { candidateLabel } from './labels.js';
import { summariseLogits } from './logit-summary.js';
import { replay, requestChanges } from './replay.js';

const MAX_NAMES = 40; // per request
const MAX_NUMBERS = 4_000_000; // per answer: 16 MB
const LOGITS = 'decoder.output.logits';
const [MEMORY, FINAL, NORMED] = ['encoder.memory', 'decoder.final', 'normed'];
const PARAMETER = /^((?:encoder|decoder)\.[\w.]+\.(?:weight|bias))(?:\[(\d{1,7})\])?$/;
const OF_HEADS = ['queries', 'keys', 'values', 'mixed']; // [head, token, width]
const OF_MAPS = ['scores', 'weights', 'allowed']; // [head, row, key]

/** @typedef {{ shape: number[], numbers: ArrayLike<number> }} Tensor */

/** Numbers [token, head × width] as [head, token, width]. */
function splitHeads(numbers, rows, heads) {
  const width = numbers.length / rows / heads;
  const split = new Float32Array(numbers.length);
  for (let row = 0; row < rows; row++) {
    for (let head = 0; head < heads; head++) {
      const from = (row * heads + head) * width;
      split.set(numbers.subarray(from, from + width), (head * rows + row) * width);
    }
  }
  return { shape: [heads, rows, width], numbers: split };
}

/** A copy of a tensor with the shape that it has in Python. @returns {Tensor} */
function captureTensor(path, numbers, rows, heads) {
  const name = path.slice(path.lastIndexOf('.') + 1);
  if (OF_HEADS.includes(name)) return splitHeads(numbers, rows, heads);
  const shape = OF_MAPS.includes(name) ? [heads, rows, numbers.length / rows / heads] : [rows, numbers.length / rows];
  return { shape, numbers: numbers.slice() };
}

/** Whether each key is not masked, [head, row, key]. */
function allowedKeys(shape) {
  const { heads, rows, keys } = shape;
  return Float32Array.from({ length: heads * rows * keys }, (_, at) => Number(isAllowed(shape, Math.floor(at / keys) % rows, at % keys)));
}

/** The norm before a sub-layer has no tensor of its own, and is computed from its input. */
const probePath = (name) => (name.endsWith(`.${NORMED}`) ? `${name.slice(0, -NORMED.length)}carried` : name);

/**
 * Changes that also collect tensors by path.
 * @param {import('./transformer.js').Changes} changes
 * @param {Set<string>} paths
 * @param {number} heads
 * @param {Map<string, Tensor>} tensors
 */
function collectingChanges(changes, paths, heads, tensors) {
  const probe = (path, numbers, rows) => {
    if (paths.has(path)) tensors.set(path, captureTensor(path, numbers, rows, heads));
  };
  const observe = (queries, keys, scores, shape) => {
    const path = attentionPath(shape.kind, shape.layer);
    probe(`${path}.queries`, queries, shape.rows);
    probe(`${path}.keys`, keys.subarray(0, (shape.keys * queries.length) / shape.rows), shape.keys);
    probe(`${path}.scores`, scores, shape.rows);
    if (paths.has(`${path}.allowed`)) probe(`${path}.allowed`, allowedKeys(shape), shape.rows);
  };
  return { ...changes, probe, attention: (kind, layer) => ({ ...changes.attention?.(kind, layer), observe }) };
}

/** A parameter, or one row of it, or null if the model has none of this name. @returns {Tensor | null} */
function getParameter({ transformer }, name) {
  const [, path = '', row] = PARAMETER.exec(name) ?? [];
  const [owner, isBias] = [path.slice(0, path.lastIndexOf('.')), path.endsWith('.bias')];
  const tied = { 'decoder.output.words': transformer.words };
  for (const side of ['encoder', 'decoder']) tied[`${side}.embedding.table`] = transformer.sides[side].table;
  const matrix = transformer.parameters.matrices.get(owner) ?? tied[owner];
  const vector = isBias && matrix ? matrix.bias?.subarray(0, matrix.outputs) : transformer.parameters.vectors.get(path);
  const rows = matrix && !isBias ? matrix.outputs : (vector?.length ?? 0);
  if (row !== undefined && Number(row) >= rows) return null;
  if (vector) return row === undefined ? { shape: [rows], numbers: vector } : { shape: [1], numbers: [vector[Number(row)]] };
  if (!matrix || isBias) return null;
  const { weights, inputs } = matrix;
  if (row === undefined) return { shape: [rows, inputs], numbers: weights.subarray(0, rows * inputs) };
  return { shape: [inputs], numbers: weights.slice(Number(row) * inputs, (Number(row) + 1) * inputs) };
}

/** The norm of a sub-layer: of its input, or with post-norm its output. @returns {Tensor | undefined} */
function normedTensor({ transformer, config }, name, tensors) {
  const parent = name.slice(0, -NORMED.length - 1);
  const carried = tensors.get(probePath(name));
  if (!carried || !config.norm_first) return tensors.get(`${parent}.stream`);
  const { vectors } = transformer.parameters;
  const [weight, bias] = ['weight', 'bias'].map((part) => vectors.get(`${parent}.norm.${part}`));
  const numbers = new Float32Array(carried.numbers.length);
  transformer.normalise(carried.numbers, { weight, bias }, numbers);
  return { ...carried, numbers };
}

function checkNames(names) {
  const example = '["encoder.embedding.embedded"]';
  const isList = Array.isArray(names) && names.length > 0 && names.length <= MAX_NAMES && names.every((name) => typeof name === 'string');
  if (!isList) throw new Fault('names', 'not_names', { given: JSON.stringify(names)?.slice(0, 60) ?? '', example });
  return [...new Set(names)];
}

/** The paths of the probes behind names. */
function requiredPaths(names) {
  const streams = names.filter((name) => name.endsWith(`.${NORMED}`)).map((name) => name.replace(/normed$/, 'stream'));
  return new Set([...names.map(probePath), ...streams]);
}

/**
 * The call `lesson_tensors`: `{ request, names }`.
 * @param {import('./engine.js').Engine} engine
 */
export async function lessonTensors(engine, { request: values, names: named }, control) {
  const { entry, request } = engine.check(values);
  const names = checkNames(named);
  const translation = await engine.translate(entry, request, control);
  if (!translation) return null;
  const model = await engine.loader.load(entry.name);
  /** @type {Map<string, Tensor>} */
  const captured = new Map();
  const changes = collectingChanges(await requestChanges(engine, model, translation), requiredPaths(names), model.config.heads, captured);
  const { memory, states } = replay(model, translation, changes);
  const { d_model: width } = model.config;
  for (const [name, numbers] of Object.entries({ [MEMORY]: memory, [FINAL]: /** @type {Float32Array} */ (states) }))
    captured.set(name, { shape: [numbers.length / width, width], numbers });
  const tensors = {};
  let total = 0;
  for (const name of names) {
    if (name === LOGITS) continue;
    const tensor = getParameter(model, name) ?? (name.endsWith(`.${NORMED}`) ? normedTensor(model, name, captured) : captured.get(name));
    if (!tensor) throw new Fault('names', 'unknown_name', { given: JSON.stringify(name), choices: 'encoder.*, decoder.*' });
    total += tensor.numbers.length;
    if (total > MAX_NUMBERS) throw new Fault('text', 'too_long_to_show');
    tensors[name] = encodeArray(tensor.shape, tensor.numbers);
  }
  const answer = { model: entry.lesson_model, tensors };
  return names.includes(LOGITS) ? { ...answer, logits: summariseRows(model, states) } : answer;
}

function summariseRows({ transformer, targetTokenizer }, states) {
  const rows = [];
  transformer.logits(states, (logits) => rows.push(summariseLogits(logits, (id) => candidateLabel(targetTokenizer.label(id)))));
  return rows;
}
