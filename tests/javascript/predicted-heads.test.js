// Rank correlation of predicted and measured losses.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { spearman } = await import('../../viz/widgets/whatif/predicted-heads.js');

test("Spearman's rank correlation uses mean ranks for ties", () => {
  assert.equal(spearman([1, 2, 3], [10, 200, 201]), 1);
  assert.equal(spearman([1, 2, 3], [3, 2, 1]), -1);
  // Ranks 0.5, 0.5, 2 and 0, 1, 2: covariance 1.5, variances 1.5 and 2.
  assert.ok(Math.abs(spearman([5, 5, 9], [1, 2, 3]) - 1.5 / Math.sqrt(1.5 * 2)) < 1e-12);
});
