// Transposes the reverse model's cross-attention to the axes of the first model: its output is the first model's input, so its map
// is turned over. Its rows are then the words that it read, and its columns sum to one.

/** The cross-attention of `translation`, the other way round: a translation in all that a map of cross-attention needs. */
export function transposedTranslation(translation) {
  const { source, target, source_text: read, text } = translation;
  const maps = new Map();
  const map = (kind, layer, head) => {
    const key = `${kind} ${layer} ${head}`;
    if (!maps.has(key)) maps.set(key, transposed(translation.map(kind, layer, head)));
    return maps.get(key);
  };
  return Object.assign(Object.create(translation), { source: target, target: source, source_text: text, text: read, map, roles: null });
}

function transposed({ weights, rows, columns }) {
  const turnedWeights = new Float32Array(weights.length);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) turnedWeights[column * rows + row] = weights[row * columns + column];
  }
  return { weights: turnedWeights, rows: columns, columns: rows };
}
