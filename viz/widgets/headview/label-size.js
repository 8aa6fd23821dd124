// Space for the labels of a map.

import { isNarrow } from '../core/dom.js';
import { isUpright } from '../parts/column-name.js';
import { rowText } from '../parts/row-name.js';

export const MAX_UNSCROLLED_TOKENS = 44; // tokens; longer maps scroll or shrink
const FONT_SIZE = 14; // pixels

/** @type {CanvasRenderingContext2D | null} */
let measuringContext = null;

function textWidth(text) {
  measuringContext ??= document.createElement('canvas').getContext('2d');
  const widget = document.querySelector('.headlight');
  if (!measuringContext || !widget) throw new Error('To measure labels, the page needs a canvas and a widget.');
  measuringContext.font = `650 ${FONT_SIZE}px ${getComputedStyle(widget).fontFamily}`;
  return measuringContext.measureText(text).width;
}

// Presentation mode:
const [MIN_FONT_SIZE, MAX_FONT_SIZE] = [18, 24]; // window pixels
const MIN_ROW_HEIGHT = 1.25; // relative to the font size
const MIN_COLUMN_WIDTH = 1.15; // relative to the font size
const MAX_CELL_SIZE = 60; // pixels
const MIN_CORNER_WIDTH = 92; // pixels; the corner holds the axis titles

const measureMaxLabelWidth = (items) => Math.max(...items.map((item) => textWidth(rowText(item))));
const hasTwoWordNames = (rows) => rows.some(({ read }) => read);

/** Width of the row labels in pixels: that of the widest label, within bounds. `fit`: dense maps do not scroll. */
export function computeRowLabelWidth({ rows, columns }, fit) {
  const twoWords = hasTwoWordNames(rows);
  if ((rows.length > MAX_UNSCROLLED_TOKENS || columns.length > MAX_UNSCROLLED_TOKENS) && fit) return twoWords ? 116 : 76;
  const maxWidth = isNarrow() ? (twoWords ? 112 : 86) : twoWords ? 164 : 116;
  return Math.ceil(Math.min(maxWidth, Math.max(isNarrow() ? 40 : 76, measureMaxLabelWidth(rows) + 18)));
}

/** Height of the column labels in pixels, for rotated and upright labels. */
export function computeColumnLabelHeight(columns) {
  const height = Math.max(...columns.map(({ label }) => (isUpright(label) ? [...label].length * 15 : textWidth(label))));
  return Math.min(116, Math.max(44, height + 14));
}

/**
 * Sizes of a map in presentation mode, in page pixels of `scale` window pixels each. If the map does not fit, the font
 * shrinks to its minimum first; then the map scrolls.
 */
export function presentationSizes({ rows, columns }, { width, availableHeight, scale }) {
  for (let size = MAX_FONT_SIZE; ; size--) {
    const fontSize = size / scale;
    const growth = fontSize / FONT_SIZE;
    const label = Math.ceil(Math.max(MIN_CORNER_WIDTH, Math.min(width / 4, measureMaxLabelWidth(rows) * growth + 18)));
    const above = Math.ceil(Math.min(availableHeight / 3, computeColumnLabelHeight(columns) * growth));
    const [cellWidth, cellHeight] = [(width - label - 2) / columns.length, (availableHeight - above - 2) / rows.length];
    const isLargeEnough = cellHeight >= MIN_ROW_HEIGHT * fontSize && cellWidth >= MIN_COLUMN_WIDTH * fontSize;
    if (!isLargeEnough && size > MIN_FONT_SIZE) continue;
    const clampSize = (size, minimum) => Math.floor(Math.max(minimum * fontSize, Math.min(MAX_CELL_SIZE, size)));
    const cell = { cellWidth: clampSize(cellWidth, MIN_COLUMN_WIDTH), cellHeight: clampSize(cellHeight, MIN_ROW_HEIGHT) };
    return { ...cell, fontSize, label, above, scrolls: !isLargeEnough };
  }
}
