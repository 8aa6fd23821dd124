// Keeps heights stable during live translation, so that maps do not jump.

/** @type {WeakMap<any, boolean>} */
const held = new WeakMap();

/** Freeze or release the heights of a view's parts. */
export function holdStill(view, still) {
  if (Boolean(held.get(view)) === still) return;
  held.set(view, still);
  const { root, says, strips, list } = view;
  const parts = [says, list && view.show.querySelector('.list'), ...(strips?.strips ?? [])].filter(Boolean);
  const heights = parts.map((part) => part.offsetHeight);
  for (const [place, part] of parts.entries()) part.style.height = still ? `${heights[place]}px` : '';
  root.classList.toggle('still', still);
}

const EIGHT = 8;
const WORD = 96; // pixels that a name has at least beside or above a map that holds still: longer ones may come

/**
 * The sizes of a map that holds still, of its own ones and those before: {columns, label, above} in columns and pixels. Room
 * for columns grows by eight, and what is gone leaves its room; the names keep the room that they began with.
 */
export function keptSizes(before, { columns, label, above }) {
  if (!before) return { columns, label: label, above: Math.max(above, WORD) };
  return { ...before, columns: columns > before.columns ? Math.ceil(columns / EIGHT) * EIGHT : before.columns };
}
