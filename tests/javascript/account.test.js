// The account of a word: printed parts add up, and tokens are summed per word.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { roundParts } = await import('../../viz/widgets/core/rounding.js');
const { formatProbability } = await import('../../viz/widgets/attribution/account.js');
const { sumByHead, sumByKeyWord, largestParts } = await import('../../viz/widgets/attribution/account-heads.js');

test('probabilities of rivals have three decimals, and tiny ones are not shown as zero', () => {
  assert.deepEqual([0.5, 0.1, 0.0123, 0.0006, 0.0004, 0].map(formatProbability), ['0.50', '0.10', '0.012', '0.001', '< 0.001', '0.000']);
});

test('rounded parts add up to the rounded total', () => {
  assert.deepEqual(roundParts([0.333, 0.333, 0.334]), [0.33, 0.33, 0.34]);
  assert.deepEqual(roundParts([0.125, 0.125, -0.25]), [0.13, 0.12, -0.25]);
  const parts = [-4.757, 0.5474, 4.3096];
  const sum = roundParts(parts).reduce((all, part) => all + part, 0);
  assert.equal(sum.toFixed(2), '0.10');
});

test('the parts of a word through heads add up, the small ones together', () => {
  const heads = [
    [
      [0.5, 0.25, 9],
      [-2, 0.1, 9],
    ],
    [
      [0.03, 0, 9],
      [0, 0.02, 9],
    ],
  ];
  const parts = sumByHead(heads, [0, 1]); // a word of two tokens
  const expected = ['L1·H1', 0.75, 'L1·H2', -1.9, 'L2·H1', 0.03, 'L2·H2', 0.02];
  assert.deepEqual(
    parts.flatMap(({ label, value }) => [label, value]),
    expected,
  );
  const listed = largestParts(parts, (count) => `${count} others`, 2);
  assert.deepEqual(
    listed.map(({ label, value }) => [label, value]),
    [
      ['L1·H2', -1.9],
      ['L1·H1', 0.75],
      ['2 others', 0.05],
    ],
  );
  assert.equal(largestParts(parts, String, 4).length, 4); // no others
});

test('the parts of a head are summed over the tokens of the attended words and of the word', () => {
  const keys = [
    [1, 2],
    [4, 8],
    [16, 32],
  ];
  const items = [
    { label: 'Bahnhof', special: false, places: [0, 1] },
    { label: '</s>', special: true, places: [2] },
  ];
  assert.deepEqual(
    sumByKeyWord(keys, items, [1]).map(({ label, value, column }) => [label, value, column]),
    [
      ['Bahnhof', 10, 0],
      ['</s>', 32, 2],
    ],
  );
});
