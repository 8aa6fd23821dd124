// A vector as a strip of colours: orange for negative, blue for positive values; hovering shows the number.

import { make } from '../core/dom.js';
import { cssColour } from '../core/theme.js';
import { showTooltip, valueColour, hideTooltip } from '../parts/tooltip.js';

const MAX_GAPS = 64; // maximum number of dimensions that are drawn with gaps
const MAX_WIDTH = 2048; // of the canvas, in pixels; CSS stretches it

/** Draws a vector. `limit`: the absolute value with the strongest colour; `describe(dimension)`: the text of the tooltip. */
export function vectorStrip(numbers, { limit, height, describe }) {
  const count = numbers.length;
  const cell = Math.max(1, Math.min(16, Math.floor(MAX_WIDTH / count)));
  const canvas = make('canvas', { width: cell * count, height, style: `height:${height}px`, 'aria-hidden': 'true' });
  const context = canvas.getContext('2d');
  for (const [dimension, number] of numbers.entries()) {
    context.fillStyle = cssColour(valueColour(number, 'signed', limit));
    context.fillRect(dimension * cell, 0, count > MAX_GAPS ? cell : cell - 1, height);
  }
  canvas.addEventListener('pointermove', (event) => {
    const { left, width } = canvas.getBoundingClientRect();
    showTooltip(event, describe(Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - left) / width) * count)))));
  });
  canvas.addEventListener('pointerleave', hideTooltip);
  return canvas;
}

/** Colour limit of several vectors: a `share` of the largest absolute value, because most values are much smaller. */
export function colourLimit(vectors, share) {
  let maximum = 0;
  for (const numbers of vectors) for (const number of numbers) maximum = Math.max(maximum, Math.abs(number));
  return share * maximum || 1;
}
