// Attention weights as characters, one for each weight: the encoding of `viz/service/weight_encoding.py`.

import { LEVELS, characterCodes, isFirst } from '../core/weight-decoding.js';

const CHUNK = 8192; // characters that are joined at once

/** @type {Uint16Array | undefined} the character of each finest cell */
let codes;

function cellCodes() {
  if (codes) return codes;
  codes = new Uint16Array(LEVELS + 1);
  let index = -1;
  for (let cell = 0; cell <= LEVELS; cell++) codes[cell] = index += isFirst(cell) ? 1 : 0;
  const letters = characterCodes(index + 1);
  codes = codes.map((letter) => letters[letter]);
  return codes;
}

/**
 * The characters of weights in memory order. `causal` omits the cells above the diagonal of maps [row, column].
 * @param {Iterable<ArrayLike<number>>} arrays
 * @param {{ columns: number, causal: boolean }} shape
 */
export function encodeWeights(arrays, { columns, causal }) {
  const cells = cellCodes();
  const parts = [];
  let letters = [];
  for (const weights of arrays) {
    for (let at = 0; at < weights.length; at++) {
      if (causal && at % columns > Math.floor(at / columns) % columns) continue;
      letters.push(cells[Math.min(LEVELS, Math.max(0, Math.floor(weights[at] * LEVELS)))]);
      if (letters.length < CHUNK) continue;
      parts.push(String.fromCharCode(...letters));
      letters = [];
    }
  }
  return [...parts, String.fromCharCode(...letters)].join('');
}
