// How much room the names beside a map need.

import { narrow } from '../core/dom.js';
import { state } from '../core/state.js';

export const MANY = 44; // tokens: beyond, labels are thinned

let ruler = null;

export function textWidth(text) {
  ruler ??= document.createElement('canvas').getContext('2d');
  ruler.font = `14px ${getComputedStyle(document.querySelector('.headlight')).fontFamily}`;
  return ruler.measureText(text).width;
}

const widest = (items) => Math.max(...items.map((item) => textWidth(item.label)));

/** Pixels left of a map for the names of its rows: what the widest needs, within bounds. */
export function labelRoom({ rows, columns }) {
  if ((rows.length > MANY || columns.length > MANY) && state.fit) return 76;
  return Math.ceil(Math.min(narrow() ? 86 : 116, Math.max(narrow() ? 40 : 76, widest(rows) + 18)));
}
