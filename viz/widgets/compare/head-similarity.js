// Similarity of two heads of two models: both maps in common words, and the attention mass that their rows share.

import { reduceCells } from '../core/map-view.js';
import { isMatched } from './token-matching.js';

/** The word that both decoders read in a row; null if they read different ones or the row reads its own word. */
function commonInputWord({ places }, rows, answers, kind) {
  const inputs = answers.flatMap((translation, side) => {
    const [position] = places[side];
    if (position === undefined) return [];
    const token = translation.previousToken(kind, position);
    if (token === translation.rows(kind)[position]) return [null];
    return [rows.find((unit) => unit.places[side].includes(position - 1)) ?? token];
  });
  return inputs.every((word) => word?.label === inputs[0]?.label) ? (inputs[0] ?? null) : null;
}

export class HeadSimilarity {
  /** `answers`: two translations; `back`: the second is from the reverse model, transposed (transposed.js). */
  constructor(matching, answers, kind, back = false) {
    this.answers = answers;
    this.kind = kind;
    this.back = back;
    const { rows, columns } = matching.units(kind, answers);
    this.units = { rows: back ? rows : rows.map((unit) => ({ ...unit, read: commonInputWord(unit, rows, answers, kind) })), columns };
    this.sharedRows = [...this.units.rows.keys()].filter((row) => isMatched(this.units.rows[row]));
    this.sharedColumns = [...this.units.columns.keys()].filter((column) => isMatched(this.units.columns[column]));
    this.cache = new Map();
    this.rankings = new Map();
  }

  /** A head's map in common words: sums over keys, means over queries. NaN if this side lacks a word or masks it. */
  map(side, { layer, head }) {
    const key = `${side} ${layer} ${head}`;
    if (!this.cache.has(key)) this.cache.set(key, this.mergeToCommonWords(side, this.answers[side].map(this.kind, layer, head)));
    return this.cache.get(key);
  }

  mergeToCommonWords(side, map) {
    const { rows, columns } = this.units;
    const isTransposed = this.back && side === 1; // the rows of a transposed map are its keys
    const weights = new Float32Array(rows.length * columns.length).fill(NaN);
    for (const [row, { places }] of rows.entries()) {
      const queries = places[side];
      if (!queries.length) continue;
      for (const [column, item] of columns.entries()) {
        const keys = item.places[side];
        if (!keys.length) continue;
        const weight = reduceCells(map, queries, keys);
        weights[row * columns.length + column] = isTransposed ? (weight * queries.length) / keys.length : weight;
      }
    }
    return weights;
  }

  /** A − B in common words; NaN if either side lacks the cell. */
  difference(first, second) {
    const secondMap = this.map(1, second);
    return this.map(0, first).map((weight, cell) => weight - secondMap[cell]);
  }

  /**
   * Shared attention: the sum of the smaller weights per common row, averaged over rows, i.e. one minus the total
   * variation distance. Rows with a single allowed key are skipped. The rows of a transposed map do not sum to one, so
   * both maps are then rescaled over the common columns. Null if no row is left, or if the rows of a maximum do not sum
   * to one.
   */
  sharedAttention(first, second) {
    if (first.head === 'max' || second.head === 'max') return null;
    const [firstMap, secondMap] = [this.map(0, first), this.map(1, second)];
    const columnCount = this.units.columns.length;
    const columns = this.back ? this.sharedColumns : [...Array(columnCount).keys()];
    let [sum, count] = [0, 0];
    for (const row of this.sharedRows) {
      const cells = columns.map((column) => row * columnCount + column);
      if (cells.filter((cell) => firstMap[cell] === firstMap[cell] || secondMap[cell] === secondMap[cell]).length < 2) continue;
      const totals = [firstMap, secondMap].map((map) => (this.back ? cells.reduce((all, cell) => all + (map[cell] || 0), 0) : 1));
      if (totals[0] > 0 && totals[1] > 0)
        sum += cells.reduce((all, cell) => all + Math.min((firstMap[cell] || 0) / totals[0], (secondMap[cell] || 0) / totals[1]), 0);
      count += 1;
    }
    return count ? { share: sum / count, rows: count } : null;
  }

  /** Single heads of the second model by decreasing similarity to a head of the first model. */
  rankHeads(first) {
    const key = `${first.layer} ${first.head}`;
    if (!this.rankings.has(key)) this.rankings.set(key, this.rank(first));
    return this.rankings.get(key);
  }

  rank(first) {
    const heads = [];
    for (let layer = 0; layer < this.answers[1].layers(this.kind); layer++) {
      for (let head = 0; head < this.answers[1].heads(this.kind); head++) {
        const shared = this.sharedAttention(first, { layer, head });
        if (shared) heads.push({ layer, head, share: shared.share });
      }
    }
    return heads.sort((a, b) => b.share - a.share);
  }
}
