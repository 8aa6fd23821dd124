import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { completenessText, tiedMethods } = await import('../../viz/widgets/attribution/faithfulness.js');

const measured = (area, low, high) => ({ area, low, high });

test('methods within the bounds of each other are not distinguished, and erasure is excluded from its own test', () => {
  const methods = {
    raw: measured(0.26, 0.24, 0.284),
    erasure: measured(0.3, 0.28, 0.32),
    gradient: measured(0.28, 0.255, 0.3),
    narrow: measured(0.27, 0.265, 0.275), // the best value is outside its bounds
    wide: measured(0.25, 0.2, 0.3), // its value is outside the bounds of the best
  };
  assert.deepEqual(tiedMethods(methods), ['gradient', 'raw']);
  assert.deepEqual(tiedMethods({ gradient: methods.gradient, wide: methods.wide }), ['gradient']);
});

test('the completeness gap of integrated gradients is described', () => {
  assert.equal(completenessText(undefined), '');
  assert.match(completenessText({ missing: 0.614, expected: 4.2 }), /4\.20 nats, but 0\.61 of them/);
  assert.match(completenessText({ missing: 0.004, expected: -1.5 }), /−1\.50 nats.*complete/);
});
