// The account of a word: printed parts add up, and tokens are summed per word.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { roundParts } = await import('../../viz/widgets/attribution/account.js');

test('rounded parts add up to the rounded total', () => {
  assert.deepEqual(roundParts([0.333, 0.333, 0.334]), [0.33, 0.33, 0.34]);
  assert.deepEqual(roundParts([0.125, 0.125, -0.25]), [0.13, 0.12, -0.25]);
  const parts = [-4.757, 0.5474, 4.3096];
  const sum = roundParts(parts).reduce((all, part) => all + part, 0);
  assert.equal(sum.toFixed(2), '0.10');
});
