// Weights from the server's encoder: decoded values, causal maps, and compressed indices.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inflateSync } from 'node:zlib';
import { python } from './engine-setup.js';

const { decodeWeights, decodeCausalWeights, decodeCodes, toLevel, MAX_LEVEL } = await import('../../viz/widgets/core/weight-decoding.js');

const SHAPE = [2, 3, 5, 5];
const sent = python(`
import base64, json
import numpy as np
from headlight.viz.service.weight_encoding import compress_weights, encode_weights
weights = np.random.default_rng(7).random((2, 3, 5, 5)) ** 6
weights[0, 0, 0, :2] = 0, 1
weights = weights.astype(np.float32)
print(json.dumps({
    "weights": weights.astype(float).ravel().tolist(),
    "letters": encode_weights(weights),
    "causal": encode_weights(weights, causal=True),
    "codes": base64.b64encode(compress_weights(weights)).decode(),
}))`);

test('a decoded weight rounds to the same decimals, and zero and one are exact', () => {
  const numbers = decodeWeights(sent.letters);
  assert.deepEqual([...numbers.subarray(0, 2)], [0, MAX_LEVEL]);
  for (const [index, weight] of sent.weights.entries()) {
    const decoded = numbers[index] / MAX_LEVEL;
    assert.ok(Math.abs(decoded - weight) <= 5e-5, `${weight}: ${decoded}`);
    for (const digits of [1, 2, 3, 4]) assert.equal(decoded.toFixed(digits), weight.toFixed(digits));
  }
});

test('compressed indices decode to the same numbers', () => {
  const numbers = decodeCodes(inflateSync(Buffer.from(sent.codes, 'base64')));
  assert.deepEqual(numbers, decodeWeights(sent.letters));
  assert.ok(Math.max(...numbers) > 256 * 3); // indices with a high byte
});

test('causal maps are sent without the cells above the diagonal', () => {
  const all = decodeWeights(sent.letters);
  const numbers = decodeCausalWeights(sent.causal, SHAPE);
  for (const [index, number] of numbers.entries()) {
    const [row, column] = [Math.floor(index / 5) % 5, index % 5];
    assert.equal(number, column > row ? 0 : all[index]);
  }
});

test('a weight is quantised to the centre of its cell', () => {
  const levels = [0, 4.9e-5, 6e-5, 0.5, 0.99996, 1].map(toLevel);
  assert.deepEqual(levels, [0, 0, 3, MAX_LEVEL / 2 + 1, MAX_LEVEL - 1, MAX_LEVEL]);
});
