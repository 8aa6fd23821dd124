import './setup.js';
import assert from 'node:assert/strict';
import test from 'node:test';

const { Patience } = await import('../../viz/widgets/core/away.js');
const GONE = { what: 'error', word: 'cluster_gone' };

test('a question stays for machines that are away, and for no other fault', () => {
  const patience = new Patience();
  assert.ok(patience.bears(GONE));
  for (const answer of [null, {}, { what: 'waiting' }, { ...GONE, word: 'cluster_busy' }, { ...GONE, word: 'cluster_lost' }])
    assert.ok(!patience.bears(answer));
  patience.end();
});

test('so many questions stay, and of one more the fault is told', () => {
  const all = [];
  for (let each = new Patience(); each.bears(GONE); each = new Patience()) all.push(each);
  assert.equal(all.length, 24);
  assert.ok(all.every((each) => each.bears(GONE)));
  all[7].end();
  assert.ok(new Patience().bears(GONE));
  for (const each of all) each.end();
});

test('a question rests longer each time, up to a bound', (context) => {
  context.mock.method(Math, 'random', () => 0.5);
  const pauses = [];
  context.mock.method(globalThis, 'setTimeout', (go, pause) => {
    pauses.push(pause);
    go();
  });
  const patience = new Patience();
  for (let time = 0; time < 7; time += 1) patience.rest();
  assert.deepEqual(pauses, [2000, 4000, 8000, 15_000, 30_000, 30_000, 30_000]);
});
