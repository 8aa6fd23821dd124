import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { createColourLookup, paint } = await import('../../viz/widgets/parts/canvas-plotly.js');

const SCALE = [
  [0, '#000000'],
  [0.5, '#ff0000'],
  [1, '#ffffff'],
];

/** Whole pixels as red, green, blue and opacity. */
const channels = (pixels) => [...pixels].map((pixel) => [...new Uint8Array(Uint32Array.of(pixel).buffer)]);
const [BLACK, RED, WHITE, CLEAR] = [
  [0, 0, 0, 255],
  [255, 0, 0, 255],
  [255, 255, 255, 255],
  [0, 0, 0, 0],
];

/** What a trace paints, in `width` × `height` pixels. */
function painted(trace, width, height) {
  const pixels = new Uint32Array(width * height);
  paint(pixels, trace, { width, height });
  return Array.from({ length: height }, (_, line) => channels(pixels.subarray(line * width, (line + 1) * width)));
}

test('colours are interpolated in the scale', () => {
  const toColour = createColourLookup(SCALE);
  assert.deepEqual(channels([0, 0.25, 0.5, 1].map(toColour)), [BLACK, [128, 0, 0, 255], RED, WHITE]);
});

test('cells fill whole pixels with their gaps, and masked cells are empty', () => {
  const trace = { z: [[0, null, 1]], zmin: 0, zmax: 1, colorscale: SCALE, xgap: 1, ygap: 1 };
  const line = [BLACK, BLACK, CLEAR, CLEAR, CLEAR, CLEAR, CLEAR, WHITE, WHITE, CLEAR];
  assert.deepEqual(painted(trace, 10, 4), [line, line, line, Array(10).fill(CLEAR)]);
});

test('rows of cells are below one another', () => {
  const trace = { z: [[0], [null], [1]], zmin: 0, zmax: 1, colorscale: SCALE, xgap: 0, ygap: 0 };
  assert.deepEqual(painted(trace, 1, 5), [[BLACK], [BLACK], [CLEAR], [WHITE], [WHITE]]);
});

test('the background shows in gaps and masked cells', () => {
  const pixels = new Uint32Array(4 * 2);
  const below = { z: [[0, 0]], zmin: 0, zmax: 1, colorscale: SCALE, xgap: 0, ygap: 0 };
  paint(pixels, below, { width: 4, height: 2 });
  paint(pixels, { ...below, z: [[1, null]], xgap: 1, ygap: 1 }, { width: 4, height: 2 });
  assert.deepEqual(channels(pixels), [WHITE, BLACK, BLACK, BLACK, BLACK, BLACK, BLACK, BLACK]);
});

test('values outside the scale have the colour of its end', () => {
  const trace = { z: [[-3, 3]], zmin: -1, zmax: 1, colorscale: SCALE, xgap: 0, ygap: 0 };
  assert.deepEqual(painted(trace, 2, 1), [[BLACK, WHITE]]);
});
