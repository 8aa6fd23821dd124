// Converts between pins and tokens: the page pins items of an axis (words, or tokens without special ones), and the Why tab
// explains a single query token and key token.

import { set, state } from '../core/state.js';
import { axes } from '../core/map-view.js';

/**
 * Token positions [query, key] of the pinned row and column; null without a pin. Of a word with several tokens, the one that
 * was selected last, or else its first.
 */
function findPinnedTokens(translation, kind, selection, [lastQuery, lastKey]) {
  const { rows, columns } = axes(translation, kind, selection);
  const toToken = (item, lastToken) => (item ? (item.places.includes(lastToken) ? lastToken : item.places[0]) : null);
  return [toToken(rows[selection.row], lastQuery), toToken(columns[selection.column], lastKey)];
}

/** Page state that pins a query token and a key token; no pin for null or a token that the axis hides. */
function makePins(translation, kind, query, key) {
  const { rows, columns } = axes(translation, kind, state);
  const toItemIndex = (items, token) => {
    const itemIndex = token === null ? -1 : items.findIndex((item) => item.places.includes(token));
    return itemIndex < 0 ? null : itemIndex;
  };
  return { row: toItemIndex(rows, query), column: toItemIndex(columns, key), hoverRow: null, hoverColumn: null };
}

/** The selected query and key, as token positions. */
export class QueryKeyPair {
  constructor() {
    this.reset();
  }

  /** Forgets the selection, after a change of kind. */
  reset() {
    this.row = null;
    this.column = null;
    this.unpinned = null; // {translation, row, column} of a query that has no pin, because other tabs hide its token
  }

  /** Selects the pinned cell. Without a pin of the query or the key, the strongest cell of the displayed head. */
  resolve(translation, kind, layer, head) {
    const [pinnedRow, pinnedColumn] = findPinnedTokens(translation, kind, state, [this.row, this.column]);
    if (pinnedRow !== null || this.unpinned?.translation !== translation) this.unpinned = null;
    const row = pinnedRow ?? this.unpinned?.row ?? null;
    const column = pinnedColumn ?? this.unpinned?.column ?? null;
    [this.row, this.column] = findStrongestCell(translation.map(kind, layer, head), row, column);
    return { row: this.row, column: this.column };
  }

  /** Selects a query and a key. Without a key (null), the strongest one of the query is selected. */
  choose(translation, kind, { row, column }) {
    this.row = row;
    this.column = column;
    const pins = makePins(translation, kind, row, column);
    this.unpinned = pins.row === null ? { translation, row, column } : null;
    set(pins);
  }
}

/** The strongest cell [row, column] of a map, in this row or column if they are not null. */
export function findStrongestCell({ weights, columns }, row, column) {
  let best = -1;
  for (let cell = 0; cell < weights.length; cell++) {
    const isOutside = (row !== null && Math.floor(cell / columns) !== row) || (column !== null && cell % columns !== column);
    if (!isOutside && weights[cell] === weights[cell] && !(weights[cell] <= weights[best])) best = cell;
  }
  return best < 0 ? [row ?? 0, column ?? 0] : [Math.floor(best / columns), best % columns];
}

/** The single head {layer, head} whose map differs least from the selected mean or maximum of several heads. */
export function findNearestHead(translation, kind, layer, head) {
  const targetWeights = translation.map(kind, layer, head).weights;
  const candidates = (index, count) => (typeof index === 'number' ? [index] : [...Array(count).keys()]);
  let nearest = { layer: 0, head: 0, distance: Infinity };
  for (const layerIndex of candidates(layer, translation.layers(kind))) {
    for (const headIndex of candidates(head, translation.heads(kind))) {
      const { weights } = translation.map(kind, layerIndex, headIndex);
      const distance = targetWeights.reduce((sum, weight, cell) => sum + (weight === weight ? Math.abs(weight - weights[cell]) : 0), 0);
      if (distance < nearest.distance) nearest = { layer: layerIndex, head: headIndex, distance };
    }
  }
  return { layer: nearest.layer, head: nearest.head };
}
