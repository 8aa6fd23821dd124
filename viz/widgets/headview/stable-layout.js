// Keeps heights stable during live translation, so that maps do not jump.

/** @type {WeakMap<any, boolean>} */
const frozenViews = new WeakMap();

/** Freeze or release the heights of a view's parts. */
export function freezeHeights(view, still) {
  if (Boolean(frozenViews.get(view)) === still) return;
  frozenViews.set(view, still);
  const { root, says, strips, list } = view;
  const parts = [says, list && view.show.querySelector('.list'), ...(strips?.strips ?? [])].filter(Boolean);
  const heights = parts.map((part) => part.offsetHeight);
  for (const [place, part] of parts.entries()) part.style.height = still ? `${heights[place]}px` : '';
  root.classList.toggle('still', still);
}

const COLUMN_STEP = 8;
const MIN_LABEL_PIXELS = 96; // pixels that a name has at least beside or above a map that holds still: longer ones may come

/**
 * The sizes of a map that holds still, of its own ones and those before: {columns, label, above} in columns and pixels. Room
 * for columns grows by eight, and what is gone leaves its room; the names keep the room that they began with.
 */
export function stableSizes(before, { columns, label, above }) {
  if (!before) return { columns, label: label, above: Math.max(above, MIN_LABEL_PIXELS) };
  return { ...before, columns: columns > before.columns ? Math.ceil(columns / COLUMN_STEP) * COLUMN_STEP : before.columns };
}
