// Multi-head attention over one sequence: weights of all heads, edits of interventions, and the mix of the values.

/**
 * @typedef {'encoder' | 'decoder' | 'cross'} Kind
 * @typedef {{ kind: Kind, layer: number, heads: number, rows: number, keys: number, start: number, allowed: Uint8Array | null }} MapShape
 *   `rows` queries and `keys` keys; `start`: position of the first query; `allowed`: keys that are not hidden; null: all
 * @typedef {{ scores?: (scores: Float32Array, shape: MapShape) => void,
 *   weights?: (weights: Float32Array, shape: MapShape, which: number) => void,
 *   observe?: (queries: Float32Array, keys: Float32Array, scores: Float32Array, shape: MapShape) => void,
 *   scoresGradient?: (gradient: Float32Array, shape: MapShape) => void,
 *   weightsGradient?: (gradient: Float32Array, softmax: Float32Array, shape: MapShape, earlier: (layer: number) => Float32Array) => void
 *   }} Edits functions that change scores or weights, [head, row, key], in place; `which`: index of the hypothesis. A gradient
 *   function changes the gradient of the changed numbers to that of the original ones
 */

/** The path of an attention in Python. */
export const attentionPath = (kind, layer) =>
  kind === 'cross' ? `decoder.layers.${layer}.cross_attention` : `${kind}.layers.${layer}.self_attention`;

/** Whether a row may attend to a key. */
export const isAllowed = ({ kind, start, allowed }, row, key) =>
  (kind !== 'decoder' || key <= start + row) && (!allowed || allowed[key] === 1);

/**
 * Q Kᵀ / √d of all heads, [head, row, key].
 * @param {Float32Array} queries [row, width]
 * @param {Float32Array} keys [key, width]
 * @param {MapShape} shape
 * @param {number} scale
 */
function attentionScores(queries, keys, { heads, rows, keys: columns }, scale) {
  const scores = new Float32Array(heads * rows * columns);
  const width = queries.length / rows;
  const headWidth = width / heads;
  for (let head = 0, at = 0; head < heads; head++) {
    for (let row = 0; row < rows; row++) {
      const query = row * width + head * headWidth;
      for (let column = 0; column < columns; column++) {
        const key = column * width + head * headWidth;
        let sum = 0;
        for (let index = 0; index < headWidth; index++) sum += queries[query + index] * keys[key + index];
        scores[at++] = sum * scale;
      }
    }
  }
  return scores;
}

/** Softmax over the allowed keys of each row, in place. Masked keys get zero; so does a fully masked row. */
function maskedSoftmax(scores, shape) {
  const { heads, rows, keys } = shape;
  for (let head = 0, at = 0; head < heads; head++) {
    for (let row = 0; row < rows; row++, at += keys) {
      let highest = -Infinity;
      for (let key = 0; key < keys; key++) if (isAllowed(shape, row, key)) highest = Math.max(highest, scores[at + key]);
      let total = 0;
      for (let key = 0; key < keys; key++) {
        const weight = isAllowed(shape, row, key) ? Math.exp(scores[at + key] - highest) : 0;
        scores[at + key] = weight;
        total += weight;
      }
      if (total > 0) for (let key = 0; key < keys; key++) scores[at + key] /= total;
    }
  }
}

/**
 * The weights of all heads, [head, row, key].
 * @param {Float32Array} queries
 * @param {Float32Array} keys
 * @param {MapShape} shape
 * @param {number} scale
 * @param {Edits | undefined} edits
 * @param {number} which
 */
export function attentionWeights(queries, keys, shape, scale, edits, which) {
  const scores = attentionScores(queries, keys, shape, scale);
  edits?.scores?.(scores, shape);
  edits?.observe?.(queries, keys, scores, shape);
  maskedSoftmax(scores, shape);
  edits?.weights?.(scores, shape, which);
  return scores;
}

/**
 * Sums the values of all keys by their weights, all heads side by side, into `mixed`, [row, width].
 * @param {Float32Array} weights
 * @param {Float32Array} values
 * @param {MapShape} shape
 * @param {Float32Array} mixed
 */
export function mixValues(weights, values, { heads, rows, keys }, mixed) {
  const width = mixed.length / rows;
  const headWidth = width / heads;
  mixed.fill(0);
  for (let head = 0, at = 0; head < heads; head++) {
    for (let row = 0; row < rows; row++) {
      const to = row * width + head * headWidth;
      for (let key = 0; key < keys; key++) {
        const weight = weights[at++];
        if (weight === 0) continue;
        const from = key * width + head * headWidth;
        for (let index = 0; index < headWidth; index++) mixed[to + index] += weight * values[from + index];
      }
    }
  }
}
