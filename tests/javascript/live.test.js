import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

const { Pace } = await import('../../viz/widgets/translate/pace.js');

const SECOND = 1000;
const pace = () => {
  let over = 0;
  const made = new Pace(() => (over += 1));
  return { made, over: () => over };
};
const measure = (made, ...seconds) => {
  for (const each of seconds) made.measure('de-en', each);
};

test('Live rests after three slow answers in a row, not after one or two', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { made } = pace();
  measure(made, 2, 2, 0.1, 2, 2);
  assert.ok(!made.isPaused('de-en'));
  measure(made, 2);
  assert.ok(made.isPaused('de-en'));
  assert.ok(!made.isPaused('en-de'));
  mock.timers.reset();
});

test('a rest ends by itself; one more slow answer begins the next, which is twice as long', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { made, over } = pace();
  measure(made, 2, 2, 2);
  mock.timers.tick(15 * SECOND);
  assert.ok(!made.isPaused('de-en'));
  assert.equal(over(), 1);
  measure(made, 2);
  mock.timers.tick(29 * SECOND);
  assert.ok(made.isPaused('de-en'));
  mock.timers.tick(SECOND);
  assert.ok(!made.isPaused('de-en'));
  for (let time = 0; time < 9; time++) {
    measure(made, 2);
    mock.timers.tick(240 * SECOND); // no rest is longer
    assert.ok(!made.isPaused('de-en'));
  }
  mock.timers.reset();
});

test('one quick answer ends a rest, and everything before it is forgotten', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { made, over } = pace();
  measure(made, 2, 2, 2, 0.1);
  assert.ok(!made.isPaused('de-en'));
  measure(made, 2, 2);
  assert.ok(!made.isPaused('de-en'));
  measure(made, 2);
  mock.timers.tick(15 * SECOND); // as long as a first rest
  assert.ok(!made.isPaused('de-en'));
  assert.equal(over(), 1);
  mock.timers.reset();
});
