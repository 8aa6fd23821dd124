// Maps pins (words, or tokens with some hidden) to a single query token and key token, and back.

import { set, state } from '../core/state.js';
import { axes } from '../core/map-view.js';

/** Token positions of the pinned row and column: the last selected tokens if the pinned words contain them, else their first. */
function pinnedTokens(translation, kind, selection, [lastRow, lastColumn]) {
  const { rows, columns } = axes(translation, kind, selection);
  const token = (item, last) => (item ? (item.places.includes(last) ? last : item.places[0]) : null);
  return [token(rows[selection.row], lastRow), token(columns[selection.column], lastColumn)];
}

/** Pins of two tokens; null for a hidden token. */
function makeSelection(translation, kind, row, column) {
  const { rows, columns } = axes(translation, kind, state);
  const pin = (items, index) => {
    if (index === null) return null;
    const itemIndex = items.findIndex((item) => item.places.includes(index));
    return itemIndex < 0 ? null : itemIndex;
  };
  return { row: pin(rows, row), column: pin(columns, column), hoverRow: null, hoverColumn: null };
}

/** The selected query and key, as token positions. */
export class QueryKeyPair {
  constructor() {
    this.reset();
  }

  /** Reset on a change of kind. */
  reset() {
    this.row = null;
    this.column = null;
    this.unpinned = null; // {translation, row, column} of a query that has no pin, because other tabs hide its token
  }

  /** The pinned cell, or by default the strongest cell of the displayed head. */
  resolve(translation, kind, layer, head) {
    const [pinnedRow, pinnedColumn] = pinnedTokens(translation, kind, state, [this.row, this.column]);
    if (pinnedRow !== null || this.unpinned?.translation !== translation) this.unpinned = null;
    const row = pinnedRow ?? this.unpinned?.row ?? null;
    const column = pinnedColumn ?? this.unpinned?.column ?? null;
    const [best, second] = strongestCell(translation.map(kind, layer, head), row, column);
    this.row = row ?? best;
    this.column = column ?? second;
    return { row: this.row, column: this.column };
  }

  /** Select a query and a key; a `null` key selects the strongest. */
  choose(translation, kind, { row, column }) {
    this.row = row;
    this.column = column;
    const pins = makeSelection(translation, kind, row, column);
    this.unpinned = pins.row === null ? { translation, row, column } : null;
    set(pins);
  }
}

/** The strongest cell, optionally within a row or a column. */
export function strongestCell({ weights, columns }, row, column) {
  let best = -1;
  for (let cell = 0; cell < weights.length; cell++) {
    const outside = (row !== null && Math.floor(cell / columns) !== row) || (column !== null && cell % columns !== column);
    if (!outside && weights[cell] === weights[cell] && !(weights[cell] <= weights[best])) best = cell;
  }
  return best < 0 ? [row ?? 0, column ?? 0] : [Math.floor(best / columns), best % columns];
}

/** The single head whose map differs least from the selected mean or maximum of several heads. */
export function nearestHead(translation, kind, layer, head) {
  const targetWeights = translation.map(kind, layer, head).weights;
  const choices = (selection, count) => (typeof selection === 'number' ? [selection] : [...Array(count).keys()]);
  let nearest = { layer: 0, head: 0, gap: Infinity };
  for (const layerIndex of choices(layer, translation.layers(kind))) {
    for (const headIndex of choices(head, translation.heads(kind))) {
      const { weights } = translation.map(kind, layerIndex, headIndex);
      const gap = targetWeights.reduce((sum, weight, cell) => sum + (weight === weight ? Math.abs(weight - weights[cell]) : 0), 0);
      if (gap < nearest.gap) nearest = { layer: layerIndex, head: headIndex, gap };
    }
  }
  return { layer: nearest.layer, head: nearest.head };
}
