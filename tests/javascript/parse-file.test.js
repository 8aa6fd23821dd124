// Attention files with names and shapes of other libraries, and errors for invalid ones.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { parseFile } = await import('../../viz/widgets/recording/parse-file.js');
const { groupByKind, parseKind } = await import('../../viz/widgets/recording/kind-arrays.js');

const [LAYERS, HEADS, ROWS] = [2, 3, 5];
const nested = (shape, at = () => 1 / ROWS, place = []) =>
  shape.length ? Array.from({ length: shape[0] }, (_, index) => nested(shape.slice(1), at, [...place, index])) : at(place);
const array = (...shape) => ({ shape, numbers: new Float32Array(shape.reduce((all, each) => all * each, 1)).fill(1 / ROWS) });
const opened = (values) => parseFile(new File([JSON.stringify(values)], 'own.json'));
const recordedShape = ({ recorded }) => recorded.self.shape;
const assertRejected = (values, word, moreValues = {}) =>
  assert.rejects(opened(values), (error) => {
    assert.deepEqual([error.word, { ...error.values, ...moreValues }], [word, error.values]);
    return true;
  });

test('attentions named and stacked as in transformers are accepted', async () => {
  const whole = [LAYERS, HEADS, ROWS, ROWS];
  for (const name of ['self', 'attentions', 'attention'])
    assert.deepEqual(recordedShape(await opened({ [name]: nested(whole) })), whole, name);
  assert.deepEqual(recordedShape(await opened({ attentions: nested([LAYERS, 1, HEADS, ROWS, ROWS]) })), whole); // a batch of one
  const three = await opened(Object.fromEntries(['encoder', 'decoder', 'cross'].map((kind) => [`${kind}_attentions`, nested(whole)])));
  assert.deepEqual(three.kinds, ['encoder', 'decoder', 'cross']);
});

test('one array per layer is accepted, in layer order', async () => {
  for (const name of ['layer_', 'layer', 'attentions.', 'arr_', '']) {
    const layers = Array.from({ length: 11 }, (_, layer) => [`${name}${layer}`, nested([1, HEADS, ROWS, ROWS], one(layer % ROWS))]);
    const recording = await opened(Object.fromEntries(layers.reverse()));
    assert.deepEqual(recordedShape(recording), [11, HEADS, ROWS, ROWS], name);
    assert.equal(recording.map('self', 10, 1).weights[0], 1);
    assert.equal(recording.map('self', 3, 1).weights[3], 1);
  }
  assert.deepEqual(groupByKind({ layer_0: array(HEADS, ROWS, ROWS) }).self.shape, [1, HEADS, ROWS, ROWS]);
  assert.deepEqual(groupByKind({ arr_0: array(LAYERS, HEADS, ROWS, ROWS) }).self.shape, [LAYERS, HEADS, ROWS, ROWS]);
  assert.deepEqual(parseKind('cross_attentions_4'), { kind: 'cross', layer: 4 });
  for (const name of ['tokens', 'attention_mask', 'hidden_states_0', 'constructor', 'layer_norm']) assert.equal(parseKind(name), null);
});

/** All attention of every row on one column. */
const one =
  (column) =>
  ([, , , at]) =>
    Number(at === column);

test('empty and blank names are words', async () => {
  const tokens = ['a', '', '  ', 'b', 'b'];
  const { source } = await opened({ attentions: nested([LAYERS, HEADS, ROWS, ROWS]), tokens });
  assert.deepEqual(
    source.map(({ label }) => label),
    ['a', '∅', '␣␣', 'b', 'b'],
  );
});

test('errors describe the content of the file', async () => {
  await assertRejected({ weights: [1], hidden: 2 }, 'no_attention', { names: 'weights, hidden' });
  await assertRejected({ cross: { numbers: [1], shape: [1, 1, 20_000, 20_000] } }, 'no_attention', { names: 'cross' });
  await assertRejected(Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`x${at}y`, at])), 'no_attention', {
    names: 'x0y, x1y, x2y, x3y, x4y, x5y, x6y, x7y, …',
  });
  await assertRejected([], 'empty');
  await assertRejected({ attentions: nested([LAYERS, 4, HEADS, ROWS, ROWS]) }, 'batch', { kind: 'self', count: 4 });
  await assertRejected({ layer_0: nested([1, HEADS, 2, 2], () => 0.5), layer_1: nested([1, HEADS, ROWS, ROWS]) }, 'ragged');
  await assertRejected({ self: nested([ROWS, ROWS]) }, 'shape', { shape: '5 × 5' });
});

// An image of 2 × 3 pixels, of which the first patch has two tokens, as a vision model with a class token.
const PIXELS = [
  [
    [1, 2, 3],
    [4, 5, 6],
    [7, 8, 9],
  ],
  [
    [11, 12, 13],
    [14, 15, 16],
    [17, 18, 255],
  ],
];
const vision = (more = {}) => ({ self: nested([1, 1, 4, 4], () => 0.25), picture: PIXELS, patches: [1, 3, -1, 0, 1, 2], ...more });

test('the image of a vision model is shown with the patch of each token', async () => {
  const { picture } = await opened(vision({ tokens: ['[CLS]', '1·1', '1·2', '1·3'] }));
  assert.deepEqual([picture.rows, picture.columns, picture.places], [1, 3, [null, 0, 1, 2]]);
  const [kind, content] = picture.image.split(',');
  assert.equal(kind, 'data:image/bmp;base64');
  const bytes = Buffer.from(content, 'base64');
  const rowBytes = 12; // three pixels of three bytes, filled up to four
  assert.deepEqual([bytes.toString('latin1', 0, 2), bytes.readUInt32LE(2), bytes.length], ['BM', bytes.length, 54 + 2 * rowBytes]);
  assert.deepEqual([bytes.readUInt32LE(18), bytes.readUInt32LE(22), bytes.readUInt16LE(28)], [3, 2, 24]);
  const pixel = (row, column) => [...bytes.subarray(54 + (1 - row) * rowBytes + 3 * column).subarray(0, 3)].reverse();
  assert.deepEqual(
    [0, 1].map((row) => [0, 1, 2].map((column) => pixel(row, column))),
    PIXELS,
  );
  assert.equal((await opened({ self: nested([1, 1, 4, 4], () => 0.25) })).picture, null);
});

test('an image that does not fit is an error', async () => {
  await assertRejected(vision({ patches: [1, 3, -1, 0, 1] }), 'picture_sizes', { first: 3, second: 4 });
  for (const wrong of [
    { picture: [[1, 2, 3]] },
    { picture: [[[1, 2, 3], [4]]] },
    { picture: [[[1, 2, 256]]] },
    { picture: [[[1, 2, 0.5]]] },
    { picture: 'data:,x' },
    { picture: null },
    { picture: { shape: [1, 1, 3], numbers: [0, 0, 0] } },
    { patches: [] },
    { patches: [1, 3, -1, 0, 1, 3] },
    { patches: [-1, -3, -1, 0, 1, 2] },
    { patches: [1e5, 1e5, -1, 0, 1, 2] },
    { patches: 'x' },
  ])
    await assertRejected(vision(wrong), 'no_picture');
});
