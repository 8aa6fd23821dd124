// Interventions of a request as changes of the model's scores and weights, and the gradients of these changes:
// `model/core/interventions.py`.

import { isAllowed } from './attention.js';

const SCORE_ACTIONS = ['temperature', 'uniform', 'previous', 'next', 'same']; // in the order in which they run
const WEIGHT_ACTIONS = ['borrow', 'copy', 'drag'];
const SCALING_ACTIONS = ['scale', 'remove'];
// If another key has a higher score, the softmax of these scores is exactly zero. A row whose target key is masked falls back to
// its own key.
const [MASKED_SCORE, FALLBACK_SCORE] = [-1e9, -1e4];
const SHUFFLE_WINDOW = 8; // length of the runs that are shuffled

/**
 * @typedef {any} Change an intervention of a request, `model/intervention_records.py`
 * @typedef {import('./attention.js').MapShape} MapShape
 * @typedef {Map<string, Record<string, { layers: Float32Array[], rows: number, columns: number }>>} BorrowedMaps by sentence and kind
 */

/** Calls `visit(offset, row, head)` for each row of the heads that a change concerns. */
function forEachRow({ head }, { heads, rows, keys }, visit) {
  for (let index = head ?? 0; index < (head == null ? heads : head + 1); index++) {
    for (let row = 0; row < rows; row++) visit((index * rows + row) * keys, row, index);
  }
}

/** Position of the first row that is computed: in the decoder, earlier rows are cached. */
const firstRow = ({ kind }, { start }) => (kind === 'encoder' ? 0 : start);

/** The factor of a head's scores; undefined if the change replaces them. */
const scoreFactor = ({ action, amount = 1 }) => ({ uniform: 0, temperature: 1 / amount })[action];

/** @param {Change} change @param {Float32Array} scores @param {MapShape} shape */
function editScores(change, scores, shape) {
  const factor = scoreFactor(change);
  const keyOffset = { previous: -1, next: 1, same: 0 }[change.action] ?? 0;
  forEachRow(change, shape, (offset, row) => {
    const position = firstRow(change, shape) + row;
    for (let key = 0; key < shape.keys; key++) {
      if (factor !== undefined) scores[offset + key] *= factor;
      else scores[offset + key] = key === position + keyOffset ? 0 : key === position ? FALLBACK_SCORE : MASKED_SCORE;
    }
  });
}

/** The gradient of scores before a change, in place. */
function scoresGradient(change, gradient, shape) {
  forEachRow(change, shape, (offset) => {
    for (let key = 0; key < shape.keys; key++) gradient[offset + key] *= scoreFactor(change) ?? 0;
  });
}

/** Sets one weight and rescales the rest of its row. */
function setWeight(change, weights, shape) {
  const row = change.row - firstRow(change, shape);
  if (row < 0 || row >= shape.rows || change.column >= shape.keys || !isAllowed(shape, row, change.column)) return;
  const at = (change.head * shape.rows + row) * shape.keys;
  const cells = weights.subarray(at, at + shape.keys);
  let rest = Array.from(cells, (weight, key) => (key === change.column ? 0 : weight));
  if (!(sum(rest) > 0)) rest = rest.map((_, key) => (key !== change.column && isAllowed(shape, row, key) ? 1 : 0));
  const total = sum(rest);
  for (let key = 0; key < shape.keys; key++)
    if (isAllowed(shape, row, key)) cells[key] = total > 0 ? (rest[key] * (1 - change.amount)) / total : 0;
  cells[change.column] = total > 0 ? change.amount : 1; // the only key of a row keeps weight one
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** The gradient of `setWeight`, in place. `weights` are those before it. */
function setWeightGradient(change, gradient, weights, shape) {
  const row = change.row - firstRow(change, shape);
  if (row < 0 || row >= shape.rows || change.column >= shape.keys || !isAllowed(shape, row, change.column)) return;
  const at = (change.head * shape.rows + row) * shape.keys;
  const [cells, slopes] = [weights, gradient].map((numbers) => numbers.subarray(at, at + shape.keys));
  const rest = Array.from(cells, (weight, key) => (key === change.column ? 0 : weight));
  const total = sum(rest);
  const mean = total > 0 ? rest.reduce((all, weight, key) => all + weight * slopes[key], 0) / total : 0;
  const factor = total > 0 ? (1 - change.amount) / total : 0; // equal weights, or one key, depend on no weight
  for (let key = 0; key < shape.keys; key++)
    if (isAllowed(shape, row, key)) slopes[key] = key === change.column ? 0 : factor * (slopes[key] - mean);
}

/** Replaces rows by those of the map for another sentence, without keys that this sentence lacks. Rows sum to one again. */
function borrowRows(change, weights, shape, { layers, rows, columns }) {
  const borrowed = layers[change.layer];
  forEachRow(change, shape, (offset, row, head) => {
    const borrowedOffset = (head * rows + firstRow(change, shape) + row) * columns;
    if (firstRow(change, shape) + row >= rows) return;
    const isShared = (key) => key < columns && isAllowed(shape, row, key);
    const cells = Array.from({ length: shape.keys }, (_, key) => (isShared(key) ? borrowed[borrowedOffset + key] : 0));
    const total = sum(cells);
    if (total > 0) for (let key = 0; key < shape.keys; key++) weights[offset + key] = cells[key] / total;
  });
}

/** Factors of each head of an attention, or null if all are one. */
function headFactors(changes, heads) {
  if (!changes.length) return null;
  const factors = new Float32Array(heads).fill(1);
  for (const { head, action, amount = 1 } of changes) {
    for (let index = head ?? 0; index < (head == null ? heads : head + 1); index++) factors[index] *= action === 'scale' ? amount : 0;
  }
  return factors;
}

/** mt19937, whose numbers PyTorch uses to shuffle. */
function mersenneTwister(seed) {
  const state = new Uint32Array(624);
  state[0] = seed;
  for (let index = 1; index < 624; index++) state[index] = Math.imul(1812433253, state[index - 1] ^ (state[index - 1] >>> 30)) + index;
  let at = 624;
  return () => {
    if (at === 624) {
      at = 0;
      for (let index = 0; index < 624; index++) {
        const bits = (state[index] & 0x80000000) | (state[(index + 1) % 624] & 0x7fffffff);
        state[index] = state[(index + 397) % 624] ^ (bits >>> 1) ^ (bits & 1 ? 0x9908b0df : 0);
      }
    }
    let bits = state[at++];
    bits ^= bits >>> 11;
    bits ^= (bits << 7) & 0x9d2c5680;
    bits ^= (bits << 15) & 0xefc60000;
    return (bits ^ (bits >>> 18)) >>> 0;
  };
}

/** Permuted positions: each run of `SHUFFLE_WINDOW` positions is shuffled. */
function shufflePositions(seed, count) {
  const random = mersenneTwister(seed);
  const positions = [];
  for (let first = 0; first < count; first += SHUFFLE_WINDOW) {
    const run = Array.from({ length: SHUFFLE_WINDOW }, (_, index) => first + index);
    for (let index = 0; index < SHUFFLE_WINDOW - 1; index++) {
      const other = index + (random() % (SHUFFLE_WINDOW - index));
      [run[index], run[other]] = [run[other], run[index]];
    }
    positions.push(...run);
  }
  return positions;
}

/** A function that maps the positions of one side to other positions. −1 stands for no position, and is not changed. */
function createPositionMap({ action, amount = 0 }, maxLength) {
  if (action === 'no_positions') return () => -1;
  if (action === 'shift') return (position) => (position < 0 ? position : Math.max(0, position + amount));
  const positions = shufflePositions(amount, maxLength);
  return (position) => (position < 0 ? position : positions[position]);
}

/**
 * The changes of a request for `Transformer`. Changes of the sentence have no effect here.
 * @param {any} config
 * @param {Change[]} interventions
 * @param {BorrowedMaps} [borrowed]
 * @returns {import('./transformer.js').Changes}
 */
export function modelChanges(config, interventions, borrowed = new Map()) {
  const attentionChanges = interventions.filter(({ kind }) => kind);
  const positionChanges = interventions.filter(({ side, part }) => side && !part);
  const removals = interventions.filter(({ part }) => part);
  const concerns = (kind, layer) => (change) => change.kind === kind && (change.layer ?? layer) === layer;
  const sortByAction = (changes, actions) =>
    changes.filter(({ action }) => actions.includes(action)).sort((a, b) => actions.indexOf(a.action) - actions.indexOf(b.action));
  /** @type {Map<string, Float32Array>} maps of the current pass that later heads copy, by kind, layer and hypothesis */
  const copiedMaps = new Map();
  const isCopied = (kind, layer) =>
    attentionChanges.some((change) => change.kind === kind && change.action === 'copy' && change.from_layer === layer);

  const headSize = ({ rows, keys }) => rows * keys;
  const copiedMapKey = ({ kind, layer }, which) => `${kind} ${layer} ${which}`;
  const borrow = (change, weights, shape) => borrowRows(change, weights, shape, /** @type {any} */ (borrowed.get(change.text))[shape.kind]);

  function editWeight(change, weights, shape, which) {
    if (change.action === 'drag') return setWeight(change, weights, shape);
    if (change.action === 'borrow') return borrow(change, weights, shape);
    const { from_layer: layer, from_head: head } = change;
    const sourceWeights =
      layer === shape.layer ? weights : /** @type {Float32Array} */ (copiedMaps.get(copiedMapKey({ ...shape, layer }, which)));
    const size = headSize(shape);
    return weights.set(sourceWeights.slice(head * size, (head + 1) * size), change.head * size);
  }

  const weightFactors = (changes, { heads }) =>
    headFactors(
      changes.filter(({ action }) => SCALING_ACTIONS.includes(action)),
      heads,
    );

  function scaleHeads(changes, numbers, shape) {
    const factors = weightFactors(changes, shape);
    if (factors) for (let at = 0; at < numbers.length; at++) numbers[at] *= factors[Math.floor(at / headSize(shape))];
  }

  function editWeights(changes, weights, shape, which) {
    for (const change of sortByAction(changes, WEIGHT_ACTIONS)) editWeight(change, weights, shape, which);
    scaleHeads(changes, weights, shape);
    if (isCopied(shape.kind, shape.layer)) copiedMaps.set(copiedMapKey(shape, which), weights.slice());
  }

  /** Moves the gradient of a copied head to its origin. `earlier(layer)`: the gradient of an earlier layer's weights. */
  function copyGradient(change, gradient, shape, earlier) {
    const size = headSize(shape);
    const slopes = gradient.slice(change.head * size, (change.head + 1) * size);
    gradient.fill(0, change.head * size, (change.head + 1) * size);
    const origin = change.from_layer === shape.layer ? gradient : earlier(change.from_layer);
    for (let at = 0; at < size; at++) origin[change.from_head * size + at] += slopes[at];
  }

  /** Rows that were borrowed depend on no weight. */
  function borrowGradient(change, gradient, shape) {
    const marks = new Float32Array(gradient.length).fill(NaN);
    borrow(change, marks, shape);
    for (let at = 0; at < gradient.length; at++) if (!Number.isNaN(marks[at])) gradient[at] = 0;
  }

  /** The gradient of the softmax's weights from that of the changed ones, in place. */
  function weightsGradient(changes, gradient, softmax, shape, earlier) {
    scaleHeads(changes, gradient, shape);
    const weights = softmax.slice();
    const steps = sortByAction(changes, WEIGHT_ACTIONS).map((change) => {
      const before = weights.slice();
      editWeight(change, weights, shape, 0);
      return { change, before };
    });
    for (const { change, before } of steps.reverse()) {
      if (change.action === 'drag') setWeightGradient(change, gradient, before, shape);
      else if (change.action === 'borrow') borrowGradient(change, gradient, shape);
      else copyGradient(change, gradient, shape, earlier);
    }
  }

  return {
    attention: (kind, layer) => {
      const changes = attentionChanges.filter(concerns(kind, layer));
      if (!changes.length && !isCopied(kind, layer)) return undefined;
      const scoreChanges = sortByAction(changes, SCORE_ACTIONS);
      return {
        scores: (scores, shape) => {
          for (const change of scoreChanges) editScores(change, scores, shape);
        },
        weights: (weights, shape, which) => editWeights(changes, weights, shape, which),
        scoresGradient: (gradient, shape) => {
          for (const change of scoreChanges) scoresGradient(change, gradient, shape);
        },
        weightsGradient: (gradient, softmax, shape, earlier) => weightsGradient(changes, gradient, softmax, shape, earlier),
      };
    },
    places: (side, place) =>
      positionChanges
        .filter((change) => change.side === side)
        .reduce((position, change) => createPositionMap(change, config.max_length)(position), place),
    isZero: (side, layer, part) => removals.some((change) => change.side === side && change.layer === layer && change.part === part),
  };
}
