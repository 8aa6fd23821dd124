import './setup.js';
import assert from 'node:assert/strict';
import test from 'node:test';

const { isBusy, Retry } = await import('../../viz/widgets/core/retry.js');
const GONE = { what: 'error', word: 'cluster_gone' };
const FULL = { what: 'error', word: 'line_full', values: { seconds: 7 } };

test('requests are retried for unreachable or busy machines, and for no other error', () => {
  const patience = new Retry();
  for (const answer of [GONE, FULL, { ...FULL, word: 'training_full' }, { ...GONE, word: 'cluster_busy' }])
    assert.ok(patience.shouldRetry(answer));
  for (const answer of [null, {}, { what: 'waiting' }, { ...GONE, word: 'cluster_lost' }]) assert.ok(!patience.shouldRetry(answer));
  patience.finish();
});

test('at most 24 requests are retried at once', () => {
  const all = [];
  for (let each = new Retry(); each.shouldRetry(GONE); each = new Retry()) all.push(each);
  assert.equal(all.length, 24);
  assert.ok(all.every((each) => each.shouldRetry(GONE)));
  all[7].finish();
  assert.ok(new Retry().shouldRetry(GONE));
  for (const each of all) each.finish();
});

test('pauses grow up to a limit', (context) => {
  context.mock.method(Math, 'random', () => 0.5);
  const patience = new Retry();
  const pauses = Array.from({ length: 7 }, () => patience.pause(GONE));
  assert.deepEqual(pauses, [2000, 4000, 8000, 15_000, 30_000, 30_000, 30_000]);
});

test('a busy server is retried no sooner than it states, and less often each time', (context) => {
  assert.deepEqual([FULL, GONE, null].map(isBusy), [true, false, false]);
  for (const [random, factor] of [
    [0, 1],
    [0.5, 1.25],
  ]) {
    context.mock.method(Math, 'random', () => random);
    const patience = new Retry();
    const pauses = Array.from({ length: 4 }, () => patience.pause(FULL));
    assert.deepEqual(pauses, [7000 * factor, 7000 * factor, 8000 * factor, 15_000 * factor]);
  }
});
