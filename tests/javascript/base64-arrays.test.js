import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

const { decodeWeights, decodeCausalWeights, MAX_LEVEL } = await import('../../viz/widgets/core/weight-decoding.js');

const python = (code) => JSON.parse(execFileSync(process.env.PYTHON ?? 'python3', ['-c', code], { encoding: 'utf8', maxBuffer: 1 << 26 }));

test('decoded weights have the same decimals', () => {
  const { letters, weights } = python(`
import json
import numpy as np
from headlight.viz.service.weight_encoding import encode_weights
random = np.random.default_rng(7)
borders = np.arange(10_001) / 10_000 + 0.00005  # where four decimals round up, on both sides
weights = np.concatenate([random.random(20_000) ** 4, borders, borders - 1e-7, [0, 1, 0.5, 0.25, 0.0625, 1e-9]]).clip(0, 1).astype("f4")
print(json.dumps({"letters": encode_weights(weights), "weights": weights.tolist()}))`);
  const numbers = decodeWeights(letters);
  assert.equal(numbers.length, weights.length);
  for (const [place, weight] of weights.entries()) {
    const decoded = Math.fround(numbers[place] / MAX_LEVEL);
    for (const digits of [1, 2, 3, 4]) assert.equal(decoded.toFixed(digits), weight.toFixed(digits), `${weight}`);
  }
});

test('zero and one are exact', () => {
  const letters = python(`
import json
import numpy as np
from headlight.viz.service.weight_encoding import encode_weights
print(json.dumps(encode_weights(np.array([[0.0, 1.0]], dtype="f4"))))`);
  assert.deepEqual([...decodeWeights(letters)], [0, MAX_LEVEL]);
});

test('causal maps omit cells above the diagonal', () => {
  const { letters, plain } = python(`
import json
import numpy as np
from headlight.viz.service.weight_encoding import encode_weights
maps = np.tril(np.arange(1, 51).reshape(2, 5, 5) / 64).astype("f4")
print(json.dumps({"letters": encode_weights(maps, causal=True), "plain": encode_weights(maps)}))`);
  assert.equal(letters.length, 2 * 15);
  assert.deepEqual(decodeCausalWeights(letters, [2, 1, 5, 5]), decodeWeights(plain));
});
