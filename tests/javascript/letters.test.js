import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

const { decode, decodeCausal, FULL } = await import('../../viz/widgets/core/letters.js');

const python = (code) => JSON.parse(execFileSync(process.env.PYTHON ?? 'python3', ['-c', code], { encoding: 'utf8', maxBuffer: 1 << 26 }));

test('a weight has the same decimals after its way as before it', () => {
  const { letters, weights } = python(`
import json
import numpy as np
from headlight.viz.answers.letters import letters_of
random = np.random.default_rng(7)
borders = np.arange(10_001) / 10_000 + 0.00005  # where four decimals round up, on both sides
weights = np.concatenate([random.random(20_000) ** 4, borders, borders - 1e-7, [0, 1, 0.5, 0.25, 0.0625, 1e-9]]).clip(0, 1).astype("f4")
print(json.dumps({"letters": letters_of(weights), "weights": weights.tolist()}))`);
  const numbers = decode(letters);
  assert.equal(numbers.length, weights.length);
  for (const [place, weight] of weights.entries()) {
    const shown = Math.fround(numbers[place] / FULL);
    for (const digits of [1, 2, 3, 4]) assert.equal(shown.toFixed(digits), weight.toFixed(digits), `${weight}`);
  }
});

test('nothing and one are exact', () => {
  const letters = python(`
import json
import numpy as np
from headlight.viz.answers.letters import letters_of
print(json.dumps(letters_of(np.array([[0.0, 1.0]], dtype="f4"))))`);
  assert.deepEqual([...decode(letters)], [0, FULL]);
});

test('of causal maps nothing travels above the diagonals', () => {
  const { letters, plain } = python(`
import json
import numpy as np
from headlight.viz.answers.letters import letters_of
maps = np.tril(np.arange(1, 51).reshape(2, 5, 5) / 64).astype("f4")
print(json.dumps({"letters": letters_of(maps, causal=True), "plain": letters_of(maps)}))`);
  assert.equal(letters.length, 2 * 15);
  assert.deepEqual(decodeCausal(letters, [2, 1, 5, 5]), decode(plain));
});
