// Gradients of the parts of the Transformer: vector-Jacobian products of attention and of layer norm.

/**
 * @typedef {import('./attention.js').MapShape} MapShape
 * @typedef {{ ownRows?: boolean }} Options `ownRows`: each row has a score of its own, so only its own key counts
 */

/** Calls `use(at, row, key, head)` for each cell that counts, at its offset in [head, row, key]. */
function eachCell({ heads, rows, keys }, use) {
  for (let head = 0, at = 0; head < heads; head++)
    for (let row = 0; row < rows; row++) for (let key = 0; key < keys; key++, at++) use(at, row, key, head);
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
  eachCell(shape, (at, row, key, head) => {
    const [from, to] = [key * width + head * headWidth, row * width + head * headWidth];
    let sum = 0;
    for (let index = 0; index < headWidth; index++) sum += mixed[to + index] * values[from + index];
    gradient[at] = sum;
  });
  return gradient;
}

/**
 * Sums rows by the cells of maps: `result[to] += cell × from` for each cell. With `byKey`, the result has a row for each key and
 * `numbers` one for each row, else the other way round.
 * @param {Float32Array} cells [head, row, key]
 * @param {Float32Array} numbers
 * @param {MapShape} shape
 * @param {{ width: number, byKey: boolean, scale?: number } & Options} options
 */
export function sumByCells(cells, numbers, shape, { width, byKey, scale = 1, ownRows = false }) {
  const headWidth = width / shape.heads;
  const result = new Float32Array((byKey ? shape.keys : shape.rows) * width);
  eachCell(shape, (at, row, key, head) => {
    const cell = cells[at] * scale;
    if (cell === 0 || (ownRows && byKey && row !== key)) return;
    const to = (byKey ? key : row) * width + head * headWidth;
    const from = (byKey ? row : key) * width + head * headWidth;
    for (let index = 0; index < headWidth; index++) result[to + index] += cell * numbers[from + index];
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
    const turn = fixed ? 0 : products / width / variance;
    for (let at = 0; at < width; at++) {
      const slope = gradient[first + at] * weight[at] - slopes / width - (input[first + at] - mean) * turn;
      result[first + at] = slope / Math.sqrt(variance);
    }
  }
  return result;
}
