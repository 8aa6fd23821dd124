import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered, encodeWeight } from './setup.js';

const { Translation, withPositions } = await import('../../viz/widgets/core/translation.js');
const { reduceCells, colourLevel, rowMaximum, argMax, view } = await import('../../viz/widgets/core/map-view.js');
const { findMostInformativeHead } = await import('../../viz/widgets/core/default-head.js');

const close = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-4, `${actual} is not ${expected}`);

const POINTS = [
  [0.75, 0.25, 0],
  [0, 0.25, 0.75],
];
const RESTS = [
  [0, 0, 1],
  [0, 0, 1],
];
const translation = new Translation(answered({ sources: ['Das', 'Haus', '</s>'], targets: ['The', 'house'], maps: [RESTS, POINTS] }));

test('offsets fit slice, also after an emoji', () => {
  const text = '😀 é!';
  const [first, last] = withPositions(
    [
      { start: 0, end: 1 },
      { start: 2, end: 4 },
    ],
    text,
  );
  assert.equal(text.slice(first.start, first.end), '😀');
  assert.equal(text.slice(last.start, last.end), 'é!');
});

test('one head is the sent map, a mean covers all heads, a maximum takes the largest of each cell', () => {
  const { weights, rows, columns } = translation.map('cross', 0, 1);
  assert.deepEqual([rows, columns], [2, 3]);
  close(weights[0], 0.75);
  close(translation.map('cross', 0, 'mean').weights[0], (0 + 0.75) / 2);
  close(translation.map('cross', 'mean', 'max').weights[5], 1);
});

test('languages of the model become browser tags', () => {
  assert.equal(translation.model.source, 'de');
});

test('the request contains its values by name', () => {
  assert.deepEqual(translation.requestValues(), { text: 'Das Haus </s>', model: 'de-en', beam_size: 4 });
});

test('hidden special tokens are removed, and their share is reported', () => {
  const shownView = view(translation, 'cross', 0, 1, { words: false, special: false, rescale: false });
  assert.deepEqual(
    shownView.columns.map((item) => item.label),
    ['Das', 'Haus'],
  );
  close(shownView.hidden, (0 + 0.75) / 2);
});

test('a rescaled row sums to one', () => {
  const shownView = view(translation, 'cross', 0, 1, { words: false, special: false, rescale: true });
  close(shownView.weights[2] + shownView.weights[3], 1);
});

test('merged cells are sums over keys and means over queries, and masked if all are', () => {
  const map = { columns: 3, weights: Float32Array.of(0.5, 0.25, NaN, 0.1, 0.3, NaN) };
  close(reduceCells(map, [0, 1], [0, 1]), (0.75 + 0.4) / 2);
  assert.ok(Number.isNaN(reduceCells(map, [0, 1], [2])));
});

test('the most informative head has rows that attend to different words', () => {
  assert.deepEqual(findMostInformativeHead(translation), { layer: 0, head: 1 });
});

test('levels of a colour scale', () => {
  assert.equal(colourLevel(0.5, 1, 'linear'), 0.5);
  assert.equal(colourLevel(0.25, 0.5, 'row'), 0.5);
  assert.equal(colourLevel(0, 0, 'row'), 0);
  assert.equal(colourLevel(1, 1, 'log'), 1);
  assert.equal(colourLevel(1e-9, 1, 'log'), 0);
  close(colourLevel(0.1, 1, 'log'), 2 / 3);
});

test('the maximum of a row', () => {
  const shownView = view(translation, 'cross', 0, 1, { words: false, special: true, rescale: false });
  close(rowMaximum(shownView, 1), 0.75);
  assert.equal(argMax([NaN, 0.1, 0.3, 0.2]), 2);
});

test('decoder rows have no weights on later tokens, and query with the token before', () => {
  const values = answered({
    sources: ['Das', '</s>'],
    targets: ['The', 'house', '</s>'],
    maps: [
      [
        [1, 0],
        [1, 0],
        [0, 1],
      ],
    ],
  });
  const half = encodeWeight(0.5);
  const letters = [encodeWeight(1), half, half, half, half, encodeWeight(0)].join('');
  const causal = new Translation({ ...values, attention: { decoder: { shape: [1, 1, 3, 3], letters } } });
  const { weights } = causal.map('decoder', 0, 0);
  const expected = [1, NaN, NaN, 0.5, 0.5, NaN, 0.5, 0.5, 0];
  for (const [index, weight] of expected.entries()) {
    if (Number.isNaN(weight)) assert.ok(Number.isNaN(weights[index]));
    else close(weights[index], weight);
  }
  const labels = [0, 1, 2].map((row) => causal.previousToken('decoder', row).label);
  assert.deepEqual(labels, ['<s>', 'The', 'house']);
});

test('a reverse model overrules the search if another hypothesis has a higher score and ended, too', () => {
  const isOverruled = (...hypotheses) => {
    const read = hypotheses.map(([score, ended]) => ({ score, ended, reverse_score: -1 }));
    return new Translation({ ...answered({ sources: ['Das'], targets: ['The'], maps: [[[1]]] }), hypotheses: read }).isOverruled;
  };
  assert.equal(isOverruled([-2, true], [-1, true]), true);
  assert.equal(isOverruled([-1, true], [-2, true]), false);
  assert.equal(isOverruled([-2, true], [-1, false]), false); // it was cut off
  assert.equal(isOverruled([-1, false], [-2, true]), true);
});

test('words are merged, but not with special tokens of the same number', () => {
  const values = answered({ sources: ['Haus', 'tür', '</s>'], targets: ['door'], maps: [[[0.5, 0.5, 0]]] });
  values.source = values.source.map((token) => ({ ...token, word: 0 }));
  const { columns } = view(new Translation(values), 'cross', 0, 0, { words: true, special: true, rescale: false });
  assert.deepEqual(
    columns.map(({ places }) => places),
    [[0, 1], [2]],
  );
});
