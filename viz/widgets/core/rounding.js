// Rounds the terms of a displayed sum.

/** Rounds parts to `digits` decimals so that they add up to the rounded total (largest remainder method). */
export function roundParts(parts, digits = 2) {
  const unit = 10 ** digits;
  const scaled = parts.map((part) => part * unit);
  const floors = scaled.map(Math.floor);
  let unitsLeft = Math.round(scaled.reduce((all, part) => all + part, 0)) - floors.reduce((all, part) => all + part, 0);
  const order = [...parts.keys()].sort((a, b) => scaled[b] - floors[b] - (scaled[a] - floors[a]));
  for (const index of order) if (unitsLeft-- > 0) floors[index] += 1;
  return floors.map((part) => part / unit);
}
