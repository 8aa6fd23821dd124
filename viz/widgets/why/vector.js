// A vector as a strip of coloured cells: orange for negative values, blue for positive ones. Hover shows the number.

import { make } from '../core/dom.js';
import { cssColour } from '../core/theme.js';
import { showTooltip, valueColour, hideTooltip } from '../parts/tooltip.js';

const MAX_GAPPED_DIMENSIONS = 64; // longer vectors have no gaps between cells
const MAX_CELL_WIDTH = 16; // pixels
const MAX_CANVAS_WIDTH = 2048; // pixels; CSS stretches the canvas

/**
 * A canvas of a vector. `limit`: the absolute value with the strongest colour; `height`: in pixels; `describe(dimension)`:
 * the text of the tooltip.
 */
export function vectorStrip(numbers, { limit, height, describe }) {
  const count = numbers.length;
  const cellWidth = Math.max(1, Math.min(MAX_CELL_WIDTH, Math.floor(MAX_CANVAS_WIDTH / count)));
  const canvas = make('canvas', { width: cellWidth * count, height, style: `height:${height}px`, 'aria-hidden': 'true' });
  const context = canvas.getContext('2d');
  for (const [dimension, number] of numbers.entries()) {
    context.fillStyle = cssColour(valueColour(number, 'signed', limit));
    context.fillRect(dimension * cellWidth, 0, count > MAX_GAPPED_DIMENSIONS ? cellWidth : cellWidth - 1, height);
  }
  canvas.addEventListener('pointermove', (event) => {
    const { left, width } = canvas.getBoundingClientRect();
    showTooltip(event, describe(Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - left) / width) * count)))));
  });
  canvas.addEventListener('pointerleave', hideTooltip);
  return canvas;
}

/** Colour limit of several vectors: a `fraction` of the largest absolute value, because most values are much smaller. */
export function colourLimit(vectors, fraction) {
  let maximum = 0;
  for (const numbers of vectors) for (const number of numbers) maximum = Math.max(maximum, Math.abs(number));
  return fraction * maximum || 1;
}
