// Navigation between heads on the wall.

import { sameHead } from '../core/store.js';

/** The head `step` positions further in reading order, wrapping around. `rows`: heads in wall order. */
export function nextHead(rows, head, step) {
  const heads = rows.flat();
  const index = heads.findIndex((candidate) => sameHead(candidate, head));
  return heads[(index + step + heads.length) % heads.length];
}

/** The head `step` rows further down, wrapping around, in the same column or at the end of a shorter row. */
export function findHeadBelow(rows, head, step) {
  const row = rows.findIndex((heads) => heads.some((candidate) => sameHead(candidate, head)));
  const column = rows[row]?.findIndex((candidate) => sameHead(candidate, head)) ?? 0;
  const nextRow = rows[(row + step + rows.length) % rows.length];
  return nextRow[Math.min(column, nextRow.length - 1)];
}
