// Space for the labels of a map.

import { isNarrow } from '../core/dom.js';
import { isUpright } from '../parts/column-name.js';
import { rowText } from '../parts/row-name.js';

export const DENSE_FROM = 44; // tokens; longer maps scroll or shrink
const LETTERS = 14; // font size of labels in pixels

/** @type {CanvasRenderingContext2D | null} */
let measuringContext = null;

function textWidth(text) {
  measuringContext ??= document.createElement('canvas').getContext('2d');
  const widget = document.querySelector('.headlight');
  if (!measuringContext || !widget) throw new Error('Labels are measured in a widget, with a canvas.');
  measuringContext.font = `650 ${LETTERS}px ${getComputedStyle(widget).fontFamily}`;
  return measuringContext.measureText(text).width;
}

const [LEAST, MOST] = [18, 24]; // font sizes in presentation mode, in window pixels
const ROW = 1.25; // minimum height of a row, relative to the font size
const COLUMN = 1.15; // minimum width of a column, relative to the font size
const LARGEST = 60; // maximum size of a cell in pixels
const CORNER = 92; // minimum width of the corner, which holds the axis titles

const maxLabelWidth = (items) => Math.max(...items.map((item) => textWidth(rowText(item))));
const namesTwoWords = (rows) => rows.some(({ read }) => read);

/** Width of the row labels in pixels: that of the widest label, within bounds. `fit`: dense maps do not scroll. */
export function rowLabelWidth({ rows, columns }, fit) {
  const twice = namesTwoWords(rows);
  if ((rows.length > DENSE_FROM || columns.length > DENSE_FROM) && fit) return twice ? 116 : 76;
  const most = isNarrow() ? (twice ? 112 : 86) : twice ? 164 : 116;
  return Math.ceil(Math.min(most, Math.max(isNarrow() ? 40 : 76, maxLabelWidth(rows) + 18)));
}

/** Height of the column labels in pixels, for rotated and upright labels. */
export function columnLabelHeight(columns) {
  const tall = Math.max(...columns.map(({ label }) => (isUpright(label) ? [...label].length * 15 : textWidth(label))));
  return Math.min(116, Math.max(44, tall + 14));
}

/**
 * Sizes of a map in presentation mode, in page pixels of `scale` window pixels each. If the map does not fit, the font
 * shrinks to its minimum first; then the map scrolls. `tall`: available height.
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
