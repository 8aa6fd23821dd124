// How much room the names beside a map need.

import { CJK, narrow } from '../core/dom.js';

export const MANY = 44; // tokens: beyond, labels are thinned

let ruler = null;

function textWidth(text) {
  ruler ??= document.createElement('canvas').getContext('2d');
  ruler.font = `650 14px ${getComputedStyle(document.querySelector('.headlight')).fontFamily}`;
  return ruler.measureText(text).width;
}

const widest = (items) => Math.max(...items.map((item) => textWidth(item.label)));

/** Pixels left of a map for the names of its rows: what the widest needs, within bounds. `fit`: a long map is not scrolled. */
export function labelRoom({ rows, columns }, fit) {
  if ((rows.length > MANY || columns.length > MANY) && fit) return 76;
  return Math.ceil(Math.min(narrow() ? 86 : 116, Math.max(narrow() ? 40 : 76, widest(rows) + 18)));
}

/** Pixels above a map for the names of its columns, which stand upright. */
export function columnRoom(columns) {
  const tall = Math.max(...columns.map(({ label }) => (CJK.test(label) ? [...label].length * 15 : textWidth(label))));
  return Math.min(116, Math.max(44, tall + 14));
}
