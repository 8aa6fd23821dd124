import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { SearchTree } = await import('../../viz/widgets/decoding/search-tree.js');
const { choiceReason, findDifference } = await import('../../viz/widgets/decoding/choice-reason.js');

// parent, step, id, label, kept, added, log probability, score, outcome, reason
const TREE = new SearchTree([
  [-1, 0, 1, 'a', 0, 'a', -0.4, -0.4, 'kept', 'kept'],
  [-1, 0, 2, 'b', 0, 'b', -0.6, -0.6, 'kept', 'kept'],
  [0, 1, 3, 'c', 1, ' c', -2, -1, 'finished', 'ended'],
  [1, 1, 4, 'd', 1, ' d', -1, -0.5, 'finished', 'ended'],
  [0, 1, 5, 'e', 1, ' e', -3, -1.5, 'dropped', 'worse'],
]);

test('the chosen translation is compared with the runner-up and with greedy search', () => {
  const { choice, greedy } = choiceReason(TREE, [3, 2], [null, null], 0);
  assert.match(choice, /“b d”.*“a c”.*−0\.50.*−1\.00/);
  assert.match(greedy, /step 1.*“b”.*“a”/);
});

test('a path of most likely tokens is also the result of greedy search', () => {
  const { choice, greedy } = choiceReason(TREE, [2], [null], 0);
  assert.match(choice, /one translation only/);
  assert.doesNotMatch(greedy, /step \d/);
});

test('a reverse model that changes the order is named; one that confirms it is only added to the score', () => {
  assert.match(choiceReason(TREE, [2, 3], [-0.1, -3], 0.3).choice, /“a c”.*“b d”.*−0\.50.*−1\.00/);
  assert.match(choiceReason(TREE, [3, 2], [-1, -2], 0.3).choice, /“a c”.*−0\.80.*−1\.60/);
});

test('without a finished translation there is no reason', () => assert.equal(choiceReason(TREE, [], [], 0), null));

test('two translations are told apart by the words that differ', () => {
  const parts = (one, other) => findDifference(one, other).join(' | ');
  assert.equal(parts('The dog is sleeping under the table.', 'The dog is asleep under the table.'), 'sleeping | asleep');
  assert.equal(parts('The dog is sleeping here.', 'The dog sleeping here.'), 'is sleeping | sleeping');
  assert.equal(parts('He sleeps now', 'He sleeps'), 'sleeps now | sleeps');
  assert.equal(parts('我看见一只狗。', '我看见一条狗。'), '只 | 条');
  assert.equal(parts('a b c d e f g h', 'x'), 'a b c d e f… | x');
});
