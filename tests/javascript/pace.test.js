import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

const { Pace } = await import('../../viz/widgets/translate/pace.js');

const SECOND = 1000;
const pace = () => {
  let changes = 0;
  const pacer = new Pace(() => (changes += 1));
  return { pacer, changes: () => changes };
};
const measure = (pacer, ...seconds) => {
  for (const each of seconds) pacer.measure('de-en', each);
};

test('Live pauses after three slow answers in a row, not after one or two', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { pacer } = pace();
  measure(pacer, 2, 2, 0.1, 2, 2);
  assert.ok(!pacer.isPaused('de-en'));
  measure(pacer, 2);
  assert.ok(pacer.isPaused('de-en'));
  assert.ok(!pacer.isPaused('en-de'));
  mock.timers.reset();
});

test('a pause ends by itself; the next slow answer starts a pause twice as long', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { pacer, changes } = pace();
  measure(pacer, 2, 2, 2);
  mock.timers.tick(15 * SECOND);
  assert.ok(!pacer.isPaused('de-en'));
  assert.equal(changes(), 1);
  measure(pacer, 2);
  mock.timers.tick(29 * SECOND);
  assert.ok(pacer.isPaused('de-en'));
  mock.timers.tick(SECOND);
  assert.ok(!pacer.isPaused('de-en'));
  for (let time = 0; time < 9; time++) {
    measure(pacer, 2);
    mock.timers.tick(240 * SECOND); // the longest pause
    assert.ok(!pacer.isPaused('de-en'));
  }
  mock.timers.reset();
});

test('one fast answer ends a pause and resets the history', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { pacer, changes } = pace();
  measure(pacer, 2, 2, 2, 0.1);
  assert.ok(!pacer.isPaused('de-en'));
  measure(pacer, 2, 2);
  assert.ok(!pacer.isPaused('de-en'));
  measure(pacer, 2);
  mock.timers.tick(15 * SECOND); // the length of a first pause
  assert.ok(!pacer.isPaused('de-en'));
  assert.equal(changes(), 1);
  mock.timers.reset();
});
