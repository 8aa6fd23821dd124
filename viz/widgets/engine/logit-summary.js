// A row of logits as the lessons show it: its best tokens, its log-sum-exp and a histogram (`viz/lessons/tensors.py`).

import { topIds } from './search.js';

const BEST_COUNT = 6;
const BINS = 48;

const round = (number) => Math.round(number * 1e6) / 1e6;

/** Counts in equal bins from the lowest to the highest number; a bin includes its lower edge, the last both. */
function countBins(numbers, low, high) {
  const width = (high - low) / BINS || 1;
  const counts = Array(BINS).fill(0);
  for (const number of numbers) counts[Math.min(BINS - 1, Math.floor((number - low) / width))]++;
  return counts;
}

/**
 * @param {Float32Array} logits
 * @param {(id: number) => string} label
 */
export function summariseLogits(logits, label) {
  const best = topIds(logits, BEST_COUNT);
  const largest = logits[best[0]];
  let [sum, powers, low] = [0, 0, Infinity];
  for (const logit of logits) {
    sum += logit;
    powers += Math.exp(logit - largest);
    low = Math.min(low, logit);
  }
  const mean = sum / logits.length;
  let squares = 0;
  for (const logit of logits) squares += (logit - mean) ** 2;
  return {
    best: best.map((id) => /** @type {[string, number, number]} */ ([label(id), id, round(logits[id])])),
    log_sum: round(largest + Math.log(powers)),
    mean: round(mean),
    spread: round(Math.sqrt(squares / logits.length)),
    counts: countBins(logits, low, largest),
    low: round(low),
    high: round(largest),
  };
}
