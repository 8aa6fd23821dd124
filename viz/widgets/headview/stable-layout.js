// Keeps heights stable during live translation, so that maps do not jump.

/** @type {WeakMap<any, boolean>} */
const frozenViews = new WeakMap();

/** Freezes or releases the heights of a view's parts. */
export function freezeHeights(view, still) {
  if (Boolean(frozenViews.get(view)) === still) return;
  frozenViews.set(view, still);
  const { root, description, strips, list } = view;
  const parts = [description, list && view.show.querySelector('.list'), ...(strips?.strips ?? [])].filter(Boolean);
  const heights = parts.map((part) => part.offsetHeight);
  for (const [index, part] of parts.entries()) part.style.height = still ? `${heights[index]}px` : '';
  root.classList.toggle('still', still);
}

const COLUMN_STEP = 8;
const MIN_LABEL_PIXELS = 96; // minimum height of column labels, since longer words may follow

/**
 * Sizes of a map during live translation, {columns, label, above}, from its previous and natural sizes. The number of
 * columns grows in steps of eight and never shrinks; label sizes do not change.
 */
export function growSizes(previous, { columns, label, above }) {
  if (!previous) return { columns, label, above: Math.max(above, MIN_LABEL_PIXELS) };
  return { ...previous, columns: columns > previous.columns ? Math.ceil(columns / COLUMN_STEP) * COLUMN_STEP : previous.columns };
}
