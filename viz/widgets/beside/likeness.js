// How alike two heads of two models are: both maps in common units, and how much of each row they share.

import { merged } from '../core/view.js';

export class Likeness {
  constructor(partners, answers, kind) {
    this.answers = answers;
    this.kind = kind;
    this.units = partners.units(kind, answers);
    this.kept = new Map();
    this.ranked = new Map();
  }

  /** One head in common units: sums over keys, means over queries. A row still sums to one. */
  map(side, { layer, head }) {
    const key = `${side} ${layer} ${head}`;
    if (!this.kept.has(key)) this.kept.set(key, this.unite(side, this.answers[side].map(this.kind, layer, head)));
    return this.kept.get(key);
  }

  unite(side, map) {
    const { rows, columns } = this.units;
    const weights = new Float32Array(rows.length * columns.length);
    for (const [row, { places }] of rows.entries()) {
      for (const [column, item] of columns.entries()) {
        weights[row * columns.length + column] = item.places[side].length ? merged(map, places[side], item.places[side]) : 0;
      }
    }
    return weights;
  }

  /** A − B in common units; NaN where neither may look. */
  difference(first, second) {
    const other = this.map(1, second);
    return this.map(0, first).map((weight, cell) =>
      weight !== weight && other[cell] !== other[cell] ? NaN : (weight || 0) - (other[cell] || 0),
    );
  }

  /**
   * What both give to the same units: of each row the sum of the smaller weights, on average over the rows, which is one
   * minus the total variation distance. Rows without a choice say nothing. Null where there is no such row, or where
   * rows do not sum to one.
   */
  shared(first, second) {
    if (first.head === 'max' || second.head === 'max') return null;
    const [one, other] = [this.map(0, first), this.map(1, second)];
    const wide = this.units.columns.length;
    let [sum, count] = [0, 0];
    for (let start = 0; start < one.length; start += wide) {
      let [both, open] = [0, 0];
      for (let cell = start; cell < start + wide; cell++) {
        both += Math.min(one[cell] || 0, other[cell] || 0);
        if (one[cell] === one[cell] || other[cell] === other[cell]) open += 1;
      }
      if (open > 1) [sum, count] = [sum + both, count + 1];
    }
    return count ? { share: sum / count, rows: count } : null;
  }

  /** The single heads of the second model, the one most like this head of the first before all others. */
  ranking(first) {
    const key = `${first.layer} ${first.head}`;
    if (!this.ranked.has(key)) this.ranked.set(key, this.rank(first));
    return this.ranked.get(key);
  }

  rank(first) {
    const found = [];
    for (let layer = 0; layer < this.answers[1].layers(this.kind); layer++) {
      for (let head = 0; head < this.answers[1].heads(this.kind); head++) {
        const shared = this.shared(first, { layer, head });
        if (shared) found.push({ layer, head, share: shared.share });
      }
    }
    return found.sort((one, other) => other.share - one.share);
  }
}
