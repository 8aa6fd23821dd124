// Space for the labels of a map.

import { isNarrow } from '../core/dom.js';
import { isUpright } from '../parts/column-name.js';

export const DENSE_FROM = 44; // tokens: beyond, labels are thinned
const LETTERS = 14; // pixels of a label's letters

let measuringContext = null;

function textWidth(text) {
  measuringContext ??= document.createElement('canvas').getContext('2d');
  measuringContext.font = `650 ${LETTERS}px ${getComputedStyle(document.querySelector('.headlight')).fontFamily}`;
  return measuringContext.measureText(text).width;
}

const [LEAST, MOST] = [18, 24]; // pixels of the window that letters have before a class, if there is room
const ROW = 1.25; // of its letters that a row takes at least
const COLUMN = 1.15; // the same of a column, whose name is turned
const LARGEST = 60; // pixels of a cell
const CORNER = 92; // pixels beside the names of columns, where the axes are named

const maxLabelWidth = (items) => Math.max(...items.map((item) => textWidth(item.label)));

/** Pixels left of a map for its row labels: the width of the widest, within bounds. `fit`: a long map is not scrolled. */
export function rowLabelWidth({ rows, columns }, fit) {
  if ((rows.length > DENSE_FROM || columns.length > DENSE_FROM) && fit) return 76;
  return Math.ceil(Math.min(isNarrow() ? 86 : 116, Math.max(isNarrow() ? 40 : 76, maxLabelWidth(rows) + 18)));
}

/** Pixels above a map for the names of its columns, turned or upright. */
export function columnLabelHeight(columns) {
  const tall = Math.max(...columns.map(({ label }) => (isUpright(label) ? [...label].length * 15 : textWidth(label))));
  return Math.min(116, Math.max(44, tall + 14));
}

/**
 * The sizes of a map that a class sees from afar, in pixels of the page, `scale` of the window's each: letters shrink first, down
 * to what can be read, then cells; what does not fit then is scrolled. `tall`: what there is above the bar.
 */
export function classRoom({ rows, columns }, { width, tall, scale }) {
  for (let size = MOST; ; size--) {
    const letters = size / scale;
    const grown = letters / LETTERS;
    const label = Math.ceil(Math.max(CORNER, Math.min(width / 4, maxLabelWidth(rows) * grown + 18)));
    const above = Math.ceil(Math.min(tall / 3, columnLabelHeight(columns) * grown));
    const [cellWidth, cellHeight] = [(width - label - 2) / columns.length, (tall - above - 2) / rows.length];
    const fits = cellHeight >= ROW * letters && cellWidth >= COLUMN * letters;
    if (!fits && size > LEAST) continue;
    const within = (cell, least) => Math.floor(Math.max(least * letters, Math.min(LARGEST, cell)));
    return { letters, label, above, cellWidth: within(cellWidth, COLUMN), cellHeight: within(cellHeight, ROW), scrolls: !fits };
  }
}
