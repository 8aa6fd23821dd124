// The scale of effects.

import assert from 'node:assert/strict';
import test from 'node:test';
import { effectLevel, signedLevel } from '../../viz/widgets/core/effect-scale.js';

test('effects are coloured by their square root, with full colour from 0.4 nats', () => {
  assert.deepEqual([0, 0.1, -0.1, 0.4, 7, -7].map(signedLevel), [0, 0.5, -0.5, 1, 1, -1]);
  assert.deepEqual([0, 0.4, -0.1].map(effectLevel), [0.5, 1, 0.25]);
});
