import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered } from './setup.js';

const { Translation } = await import('../../viz/widgets/core/translation.js');
const { remapPins, remapIndex } = await import('../../viz/widgets/core/pins.js');
const { growSizes } = await import('../../viz/widgets/headview/stable-layout.js');

test('a word keeps its pin if words are added around it or in its middle', () => {
  const before = ['Der', 'Hund', 'schläft'];
  assert.equal(remapIndex(1, before, ['Der', 'Hund', 'schläft', 'jetzt']), 1);
  assert.equal(remapIndex(1, before, ['Heute', 'Der', 'Hund', 'schläft']), 2);
  assert.equal(remapIndex(2, before, ['Der', 'alte', 'Hund', 'schläft']), 3);
  assert.equal(remapIndex(1, before, ['Ein', 'kleiner', 'Hund', 'bellt', 'laut']), 2);
});

test('the pin of a changed or ambiguous word is removed', () => {
  assert.equal(remapIndex(2, ['Der', 'Hund', 'schl'], ['Der', 'Hund', 'schläft', 'tief']), null);
  assert.equal(remapIndex(1, ['a', 'die', 'b'], ['die', 'c', 'die']), null);
  assert.equal(remapIndex(null, ['a'], ['a']), null);
  assert.equal(remapIndex(3, ['a'], ['a']), null);
});

test('pins of rows and columns follow the words of both sides', () => {
  const map = (rows, columns) => [Array.from({ length: rows }, () => Array(columns).fill(1 / columns))];
  const translation = (sources, targets) => new Translation(answered({ sources, targets, maps: map(targets.length, sources.length) }));
  const before = translation(['Der', 'Hund', '</s>'], ['The', 'dog', '</s>']);
  const after = translation(['Der', 'alte', 'Hund', '</s>'], ['The', 'old', 'dog', '</s>']);
  const look = { kind: 'cross', words: false, special: true, row: 1, column: 2 };
  assert.deepEqual(remapPins(before, after, look), { row: 2, column: 3 });
  assert.deepEqual(remapPins(after, before, { ...look, row: 1 }), { row: null, column: 1 });
});

test('a fixed map reserves eight more columns at once and never shrinks', () => {
  const first = growSizes(null, { columns: 5, label: 80, above: 50 });
  assert.deepEqual([first.columns, first.label], [5, 80]);
  const more = growSizes(first, { columns: 6, label: 116, above: 200 });
  assert.deepEqual(more, { ...first, columns: 8 });
  assert.deepEqual(growSizes(more, { columns: 3, label: 40, above: 40 }), more);
});
