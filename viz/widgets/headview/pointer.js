// Pointer events of a view: the hovered row and column, and clicks.

/** Handles hover and clicks. `cellAt(event)` returns [row, column], or undefined if no head is shown. */
export function mountPointer(element, cellAt, { onHover, onPin }) {
  element.addEventListener('pointermove', (event) => {
    const cell = event.pointerType === 'touch' ? null : cellAt(event);
    if (cell) onHover(...cell);
  });
  element.addEventListener('pointerleave', () => onHover(null, null));
  element.addEventListener('click', (event) => {
    const [row, column] = cellAt(event) ?? [null, null];
    if (row !== null || column !== null) onPin(row, column);
  });
}

/** Row and column of an element: a label, a number or a token of the sentences. */
export function findCell(source, view, element) {
  const labelled = findLabelCell(element);
  if (labelled) return labelled;
  return findCellByKeys(source, view, element.closest('.token')?.dataset.keys);
}

/** Row or column of a word, by the keys of its tokens. */
export function findCellByKeys(source, view, words) {
  const keys = words?.split(' ');
  if (!keys) return [null, null];
  const indexOnAxis = (axis) => view[axis].findIndex((item) => source.keys(view.kind, axis, item).some((key) => keys.includes(key)));
  const row = indexOnAxis('rows');
  if (row >= 0) return [row, null];
  const column = indexOnAxis('columns');
  return [null, column >= 0 ? column : null];
}

/** Row and column of a label or number; null for other elements. */
export function findLabelCell(element) {
  const number = (text) => (text === undefined ? null : Number(text));
  const label = element.closest('[data-row],[data-column]');
  return label && [number(label.dataset.row), number(label.dataset.column)];
}
