// Attention maps of any model with their tokens, with the interface of a translation. Large recordings load on demand.

import { Translation, withPositions } from './translation.js';

/** @type {import('./translation.js').Kind[]} */
export const MAP_KINDS = ['encoder', 'decoder', 'cross', 'self'];

/**
 * @typedef {object} RecordedKind
 * @property {number[]} shape [layers, heads, rows, columns]
 * @property {number[]} layers layer numbers in the model, from 0
 * @property {string | null} allowed `1` for an unmasked cell, `0` for a masked one, in row-major order; null: no mask
 */

export class Recording extends Translation {
  /**
   * @param {{ name: string, kinds: Record<string, RecordedKind>, remarks: [string, any][], [tokens: string]: any }} values
   * @param {Record<string, Uint16Array>} levels maps by kind, `MAX_LEVEL` for 1; missing kinds are requested
   * @param {((request: { kind: string, heads: any[], small: boolean }) => void) | null} requestMaps
   */
  constructor(values, levels, requestMaps = null) {
    const { name, kinds, remarks, source, source_text, target, text, before, picture = null } = values;
    const start = before?.[0] ?? {};
    super({ model: { name, source: '', target: '', best_head: null }, source, source_text, target, text, start, attention: {} });
    this.kinds = MAP_KINDS.filter((kind) => kinds[kind]);
    this.recorded = kinds;
    this.remarks = remarks;
    this.picture = picture; // image of a vision model: {image, rows, columns, places}; `places`: patch index of each source token, or null
    this.labelsInputs = !before; // whether a decoder row is labelled by its input token, not by the predicted one
    this.before = withPositions(before ?? [], text).map((token, position) => ({ ...token, key: position ? `t${position - 1}` : 'b' }));
    this.requestMaps = requestMaps;
    this.requestedMaps = new Set();
    /** @type {Map<string, any>} */
    this.thumbnails = new Map();
    /** @type {Map<string, import('./translation.js').AttentionMap>} placeholders of maps that are not loaded yet */
    this.placeholders = new Map();
    for (const kind of this.kinds) this.tensors[kind] = { shape: kinds[kind].shape, numbers: levels[kind] ?? null };
    if (requestMaps) this.opening = { layer: 0, head: 0, row: null }; // finding the most informative head would need all maps
  }

  /** Whether all maps of a kind are loaded. */
  isComplete(kind) {
    return Boolean(this.tensors[kind].numbers);
  }

  columns(kind) {
    if (kind !== 'decoder') return this.source;
    return this.labelsInputs ? this.target : this.before;
  }

  previousToken(kind, row) {
    return this.labelsInputs || ['encoder', 'self'].includes(kind) ? this.rows(kind)[row] : this.before[row];
  }

  masked(kind) {
    return this.recorded[kind].allowed !== null;
  }

  mask(kind, { weights }) {
    const { allowed } = this.recorded[kind];
    if (allowed === null) return;
    for (let cell = 0; cell < weights.length; cell++) if (allowed[cell] === '0') weights[cell] = NaN;
  }

  map(kind, layer, head) {
    if (this.isComplete(kind)) return super.map(kind, layer, head);
    return this.maps.get(`${kind} ${layer} ${head}`) ?? this.placeholderMap(kind, { layer, head }, false);
  }

  /** Downsampled map of a head, for kinds whose maps load on demand. */
  thumbnailMap(kind, { layer, head }) {
    return this.thumbnails.get(`${kind} ${layer} ${head}`) ?? this.placeholderMap(kind, { layer, head }, true);
  }

  /** A map of NaN until the map is loaded; the first call requests it. */
  placeholderMap(kind, head, small) {
    const key = `${kind} ${head.layer} ${head.head} ${small}`;
    if (!this.requestedMaps.has(key)) {
      this.requestedMaps.add(key);
      this.requestMaps?.({ kind, heads: [head], small });
    }
    const [, , rows, columns] = this.tensors[kind].shape;
    const size = small ? { rows: 1, columns: 1 } : { rows, columns };
    const sizeKey = `${kind} ${small}`;
    const placeholder = this.placeholders.get(sizeKey) ?? { weights: new Float32Array(size.rows * size.columns).fill(NaN), ...size };
    this.placeholders.set(sizeKey, placeholder);
    return placeholder;
  }

  /** Stores loaded maps. `levels`: integer weights of the heads; `maxLevel`: the integer for a weight of one. */
  receive({ kind, small, shape: [rows, columns] }, heads, levels, maxLevel) {
    const size = rows * columns;
    for (const [index, { layer, head }] of heads.entries()) {
      const weights = Float32Array.from(levels.subarray(index * size, (index + 1) * size), (level) => level / maxLevel);
      if (!small) this.mask(kind, { weights });
      (small ? this.thumbnails : this.maps).set(`${kind} ${layer} ${head}`, { weights, rows, columns });
    }
  }
}
