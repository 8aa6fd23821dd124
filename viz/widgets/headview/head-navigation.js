// Navigation between heads on the wall.

import { sameHead } from '../core/store.js';

/** The head `step` positions further in reading order, wrapping around. `rows`: heads in wall order. */
export function nextHead(rows, head, step) {
  const all = rows.flat();
  const place = all.findIndex((item) => sameHead(item, head));
  return all[(place + step + all.length) % all.length];
}

/** The head `step` rows further down, wrapping around, in the same column or at the end of a shorter row. */
export function headBelow(rows, head, step) {
  const row = rows.findIndex((item) => item.some((one) => sameHead(one, head)));
  const place = rows[row]?.findIndex((one) => sameHead(one, head)) ?? 0;
  const next = rows[(row + step + rows.length) % rows.length];
  return next[Math.min(place, next.length - 1)];
}
