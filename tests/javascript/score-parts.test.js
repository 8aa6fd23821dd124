import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { sumGroups, partName, roundRows, namedShare } = await import('../../viz/widgets/why/score-parts.js');

const part = (writer, value, place = {}) => ({ writer, value, kind: null, layer: null, head: null, reads: [], ...place });

test('parts are summed by writer, and empty groups are omitted', () => {
  const parts = [part('head', -2, { layer: 0, head: 1 }), part('head', 1.5), part('word', 3), part('position', 1), part('distance', 0.25)];
  assert.deepEqual(sumGroups(parts), [
    { group: 'word', value: 3 },
    { group: 'place', value: 1.25 },
    { group: 'heads', value: -0.5 },
  ]);
});

test('the share of the largest parts is relative to the score of either sign', () => {
  const parts = [part('word', -4), part('position', 1), part('network', -0.5), part('biases', -0.5)];
  assert.equal(namedShare(parts, -4), 3.5 / 4);
});

test('a decoder head is named with its kind', () => {
  const head = part('head', 1, { kind: 'cross', layer: 7, head: 2 });
  assert.match(partName(head, false), /L8·H3/);
  assert.doesNotMatch(partName(head, false), /Cross/);
  assert.match(partName(head, true), /Cross L8·H3/);
});

test('the rows of the table add up to the score, and their shares to 100%', () => {
  const values = [0.814, 0.674, 0.614, 0.474, 0.354, -0.184, -0.022, -0.044];
  const parts = values.map((value) => part('network', value));
  const score = values.reduce((all, value) => all + value, 0);
  const total = (rows, name) => rows.reduce((all, row) => all + row[name], 0).toFixed(2);
  for (const [count, length] of [
    [6, 7],
    [8, 8],
  ]) {
    const rows = roundRows(parts, score, count);
    assert.equal(rows.length, length);
    assert.equal(total(rows, 'value'), score.toFixed(2));
    assert.equal(total(rows, 'share'), '1.00');
    for (const [index, row] of rows.entries()) if (index < 6) assert.ok(Math.abs(row.value - values[index]) < 0.01);
  }
});
