// Rounds the terms of a displayed sum.

/** Rounds parts to `digits` decimals so that they add up to the rounded total (largest remainder method). */
export function roundParts(parts, digits = 2) {
  const unit = 10 ** digits;
  const scaledParts = parts.map((part) => part * unit);
  const floors = scaledParts.map(Math.floor);
  let unitsLeft = Math.round(scaledParts.reduce((sum, part) => sum + part, 0)) - floors.reduce((sum, part) => sum + part, 0);
  const order = [...parts.keys()].sort((a, b) => scaledParts[b] - floors[b] - (scaledParts[a] - floors[a]));
  for (const index of order) if (unitsLeft-- > 0) floors[index] += 1;
  return floors.map((part) => part / unit);
}
