import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { cells, colourAt } = await import('../../viz/widgets/parts/quickplotly.js');

const SCALE = [
  [0, '#000000'],
  [0.5, '#ff0000'],
  [1, '#ffffff'],
];

test('colours lie between those of the scale', () => {
  assert.equal(colourAt(SCALE, 0), 'rgb(0,0,0)');
  assert.equal(colourAt(SCALE, 0.25), 'rgb(128,0,0)');
  assert.equal(colourAt(SCALE, 0.5), 'rgb(255,0,0)');
  assert.equal(colourAt(SCALE, 1), 'rgb(255,255,255)');
});

test('cells fill whole pixels, with their gaps, and masked ones are left out', () => {
  const trace = { z: [[0, null, 1]], zmin: 0, zmax: 1, colorscale: SCALE, xgap: 1, ygap: 1 };
  assert.deepEqual(cells(trace, { width: 10, height: 4 }), [
    [0, 0, 2, 3, 'rgb(0,0,0)'],
    [7, 0, 2, 3, 'rgb(255,255,255)'],
  ]);
});

test('what lies beyond the scale has the colour of its end', () => {
  const trace = { z: [[-3, 3]], zmin: -1, zmax: 1, colorscale: SCALE, xgap: 0, ygap: 0 };
  assert.deepEqual(
    cells(trace, { width: 2, height: 1 }).map((cell) => cell[4]),
    ['rgb(0,0,0)', 'rgb(255,255,255)'],
  );
});
