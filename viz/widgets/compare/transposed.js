// Transposes the reverse model's cross-attention to the axes of the first model: its output is the first model's input.
// The rows are then its input words, and the columns sum to one.

/** The `translation` with its cross-attention transposed, with all fields that a cross-attention map needs. */
export function transposedTranslation(translation) {
  const { source, target, source_text: sourceText, text } = translation;
  const maps = new Map();
  const map = (kind, layer, head) => {
    const key = `${kind} ${layer} ${head}`;
    if (!maps.has(key)) maps.set(key, transposeMap(translation.map(kind, layer, head)));
    return maps.get(key);
  };
  const values = { source: target, target: source, source_text: text, text: sourceText, map, roles: null, measures: null };
  return Object.assign(Object.create(translation), values);
}

function transposeMap({ weights, rows, columns }) {
  const transposedWeights = new Float32Array(weights.length);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) transposedWeights[column * rows + row] = weights[row * columns + column];
  }
  return { weights: transposedWeights, rows: columns, columns: rows };
}
