// Hides rows, labels and words of tokens that are not written yet while the player runs.

/** Number of rows and columns of a view that are written: all of them in the encoder or without a player. */
export function countWrittenCells(translation, { kind, rows, columns }, written) {
  const countWritten = (items, count) => items.filter(({ places }) => places[0] < count).length;
  const fullSize = { rows: rows.length, columns: columns.length };
  if (written === null || written === undefined || kind === 'encoder') return fullSize;
  const size = { ...fullSize, rows: countWritten(rows, written) };
  if (kind === 'cross') return size;
  const writtenKeys = new Set([translation.start.key, ...translation.target.slice(0, written - 1).map(({ key }) => key)]);
  return { ...size, columns: columns.filter(({ key }) => writtenKeys.has(key)).length };
}

/** The row of a target token; null for encoder maps. */
export function findTokenRow({ kind, rows }, token) {
  if (kind === 'encoder' || token === null) return null;
  const row = rows.findIndex(({ places }) => places.includes(token));
  return row < 0 ? null : row;
}

/** Hides labels and numbers of unwritten rows and columns. */
export function hideUnwrittenLabels(element, size) {
  for (const name of element.querySelectorAll('[data-row], [data-column]')) {
    const { row, column } = name.dataset;
    name.classList.toggle('unwritten', Number(row ?? -1) >= size.rows || Number(column ?? -1) >= size.columns);
  }
}

/** Hides tokens of the strips that are not written yet. */
export function hideUnwrittenTokens(tokens, target, count) {
  const unwrittenKeys = new Set(count === null ? [] : target.slice(count).map(({ key }) => key));
  for (const token of tokens) token.classList.toggle('unwritten', unwrittenKeys.has(token.dataset.keys.split(' ')[0]));
}
