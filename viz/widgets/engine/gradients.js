// Gradients of the parts of the Transformer: vector-Jacobian products of attention and of layer norm.

/**
 * @typedef {import('./attention.js').MapShape} MapShape
 * @typedef {{ ownRows?: boolean }} Options `ownRows`: each row has a score of its own, so only its own key counts
 */

/** Calls `visit(offset, row, key, head)` for each cell of an array [head, row, key]. */
function forEachCell({ heads, rows, keys }, visit) {
  for (let head = 0, offset = 0; head < heads; head++)
    for (let row = 0; row < rows; row++) for (let key = 0; key < keys; key++, offset++) visit(offset, row, key, head);
}

/**
 * The gradient of the weights, [head, row, key], from that of the mixed values, [row, width].
 * @param {Float32Array} mixed
 * @param {Float32Array} values [key, width]
 * @param {MapShape} shape
 */
export function weightsGradient(mixed, values, shape) {
  const width = mixed.length / shape.rows;
  const headWidth = width / shape.heads;
  const gradient = new Float32Array(shape.heads * shape.rows * shape.keys);
  forEachCell(shape, (offset, row, key, head) => {
    const [valueStart, mixedStart] = [key * width + head * headWidth, row * width + head * headWidth];
    let sum = 0;
    for (let index = 0; index < headWidth; index++) sum += mixed[mixedStart + index] * values[valueStart + index];
    gradient[offset] = sum;
  });
  return gradient;
}

/**
 * Sums vectors weighted by the cells of maps: for each cell, `result[target] += cell × vectors[source]`. With `byKey`, the
 * targets are keys and the sources rows, else the targets are rows and the sources keys.
 * @param {Float32Array} cells [head, row, key]
 * @param {Float32Array} vectors [source, width]
 * @param {MapShape} shape
 * @param {{ width: number, byKey: boolean, scale?: number } & Options} options
 */
export function sumByCells(cells, vectors, shape, { width, byKey, scale = 1, ownRows = false }) {
  const headWidth = width / shape.heads;
  const result = new Float32Array((byKey ? shape.keys : shape.rows) * width);
  forEachCell(shape, (offset, row, key, head) => {
    const cell = cells[offset] * scale;
    if (cell === 0 || (ownRows && byKey && row !== key)) return;
    const target = (byKey ? key : row) * width + head * headWidth;
    const source = (byKey ? row : key) * width + head * headWidth;
    for (let index = 0; index < headWidth; index++) result[target + index] += cell * vectors[source + index];
  });
  return result;
}

/** The gradient of the scores from that of the softmax's weights, in place. */
export function softmaxGradient(gradient, softmax, { heads, rows, keys }) {
  for (let first = 0; first < heads * rows * keys; first += keys) {
    let mean = 0;
    for (let at = first; at < first + keys; at++) mean += softmax[at] * gradient[at];
    for (let at = first; at < first + keys; at++) gradient[at] = softmax[at] * (gradient[at] - mean);
  }
}

/**
 * The gradient of a layer norm's input, [row, width]. With `fixed`, the divisor is a constant.
 * @param {Float32Array} gradient of its output
 * @param {Float32Array} input
 * @param {{ weight: Float32Array, epsilon: number, width: number, fixed?: boolean }} norm
 */
export function normGradient(gradient, input, { weight, epsilon, width, fixed = false }) {
  const result = new Float32Array(gradient.length);
  for (let first = 0; first < gradient.length; first += width) {
    let [sum, squares, slopes, products] = [0, 0, 0, 0];
    for (let at = 0; at < width; at++) sum += input[first + at];
    const mean = sum / width;
    for (let at = 0; at < width; at++) {
      const [centred, slope] = [input[first + at] - mean, gradient[first + at] * weight[at]];
      squares += centred ** 2;
      slopes += slope;
      products += slope * centred;
    }
    const variance = squares / width + epsilon;
    const varianceSlope = fixed ? 0 : products / width / variance;
    for (let at = 0; at < width; at++) {
      const slope = gradient[first + at] * weight[at] - slopes / width - (input[first + at] - mean) * varianceSlope;
      result[first + at] = slope / Math.sqrt(variance);
    }
  }
  return result;
}
