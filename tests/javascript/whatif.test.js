import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered } from './setup.js';

const { Translation } = await import('../../viz/widgets/core/translation.js');
const { filterInterventions } = await import('../../viz/widgets/core/interventions.js');
const { parsePermalink } = await import('../../viz/widgets/core/permalink.js');
const { set, state } = await import('../../viz/widgets/core/state.js');
const { canRedo, canUndo, setInterventions, interventionText, interventions, redo, undo } = await import(
  '../../viz/widgets/whatif/interventions.js'
);
const { findComparableViews } = await import('../../viz/widgets/whatif/difference.js');
const { rescaleRow } = await import('../../viz/widgets/whatif/weight-editor.js');
const { applySwaps, findSwaps } = await import('../../viz/widgets/whatif/minimal-pair.js');

const sentence = (text) => {
  const sources = text.split(' ');
  const row = sources.map((_, place) => Number(!place));
  return new Translation(answered({ sources, targets: ['a', '</s>'], maps: [[row, row]] }));
};
const OFF = { action: 'remove', kind: 'cross', layer: 0, head: 0 };
const MASK = { action: 'mask', start: 4, end: 8 };

/** Replace the current sentence. */
function arrive(translation) {
  set({ ...filterInterventions(translation), translation });
}

test('changes of words are kept per sentence on every tab, and undo and redo do not move them to another', () => {
  set({ tab: 'heads', interventions: '' });
  arrive(sentence('Der Hund bellt'));
  setInterventions([OFF]);
  setInterventions([OFF, MASK]);
  arrive(sentence('Die Katze schläft'));
  assert.deepEqual(interventions(), [OFF]);
  assert.ok(canUndo());
  undo(); // the state before the head was removed
  assert.deepEqual(interventions(), []);
  assert.ok(!canUndo());
  redo();
  assert.deepEqual(interventions(), [OFF]);
  assert.ok(!canRedo());
  setInterventions([OFF, { ...MASK, end: 9 }]);
  arrive(sentence('Der Hund bellt'));
  undo();
  assert.deepEqual(interventions(), []); // the mask of another sentence is skipped
});

test('the same sentence keeps its changes, and a link overrides them', () => {
  set({ interventions: '' });
  arrive(sentence('Der Hund bellt'));
  setInterventions([MASK]);
  arrive(sentence('Der Hund bellt'));
  assert.deepEqual(interventions(), [MASK]);
  const other = sentence('Die Katze schläft');
  set({ ...filterInterventions(other), translation: other, interventions: JSON.stringify([{ ...MASK, end: 9 }]) });
  assert.deepEqual(interventions(), [{ ...MASK, end: 9 }]);
  assert.equal(state.translation, other);
});

test('changes of heads that another model lacks are removed', () => {
  set({ interventions: '' });
  arrive(sentence('Der Hund bellt'));
  setInterventions([OFF, { ...OFF, layer: 5 }, { action: 'no_positions', side: 'encoder' }]);
  arrive(sentence('Die Katze schläft'));
  assert.deepEqual(interventions(), [OFF, { action: 'no_positions', side: 'encoder' }]);
  const copy = { action: 'copy', kind: 'cross', layer: 0, head: 0, from_layer: 0, from_head: 0 };
  setInterventions([{ action: 'zero', side: 'encoder', layer: 9, part: 'feed_forward' }, { ...copy, from_head: 99 }, copy]);
  const shallow = sentence('Der Hund bellt');
  shallow.tensors.encoder = shallow.tensors.cross; // one layer of one head
  arrive(shallow);
  assert.deepEqual(interventions(), [copy]);
});

test('a minimal pair is the swaps that turn one sentence into the other', () => {
  const pairs = [
    [
      'Er liest, weil er will.',
      'Sie liest, weil sie will.',
      [
        ['Er', 'Sie'],
        ['er', 'sie'],
      ],
    ],
    ['Ich habe ein Auto.', 'Ich habe kein Auto.', [['ein', 'kein']]],
    ['Ich komme heute nicht mit.', 'Ich komme heute mit.', [['nicht', null]]],
    ['Ich komme mit.', 'Ich komme nicht mit.', [['mit', 'nicht mit']]],
    ['Der Hund schläft', 'Der Hund schläft jetzt', [['schläft', 'schläft jetzt']]],
    ['他喜欢狗。', '她喜欢狗。', [['他', '她']]],
    [
      '😀 Der Hund',
      '😀 Die Katze',
      [
        ['Der', 'Die'],
        ['Hund', 'Katze'],
      ],
    ],
    ['Gleich.', 'Gleich.', []],
    ['Ich schlafe', 'Ich heute schlafe gut', [['schlafe', 'heute schlafe gut']]],
    ['Hallo', 'Oh Hallo du', [['Hallo', 'Oh Hallo du']]],
  ];
  for (const [text, other, expected] of pairs) {
    const swaps = findSwaps(text, other);
    const words = swaps.map(({ start, end, text: word = null }) => [[...text].slice(start, end).join(''), word]);
    assert.deepEqual(words, expected, other);
    assert.equal(applySwaps(text, swaps), other);
  }
});

test('a label names the sentence that a borrowed map comes from', () => {
  const copy = { action: 'copy', kind: 'cross', layer: 2, head: 1, from_layer: 0, from_head: 3 };
  assert.match(interventionText(copy, ''), /L3·H2.*L1·H4/);
  assert.match(interventionText({ action: 'borrow', kind: 'cross', layer: 2, head: 1, text: 'Guten Tag.' }, ''), /L3·H2.*Guten Tag\./);
});

test('invalid changes in a link are ignored', () => {
  const parsed = (list) => parsePermalink(`#interventions=${encodeURIComponent(JSON.stringify(list))}`).interventions;
  assert.equal(parsed([{ action: 'copy', kind: 'cross', layer: 1, head: 0 }]), undefined);
  assert.equal(parsed([{ action: 'borrow', kind: 'cross', layer: 1, text: 7 }]), undefined);
  assert.equal(parsed([{ action: 'drag', kind: 'cross', amount: 0.5 }]), undefined);
  assert.ok(parsed([{ action: 'borrow', kind: 'cross', layer: 1, text: 'Hallo.' }]));
});

/** A sentence of words split into tokens, with one uniform map. */
function makeTranslation(words) {
  const sources = words.flat();
  const sent = answered({ sources, targets: ['x', '</s>'], maps: [[sources, sources].map((row) => row.map(() => 1 / row.length))] });
  let place = 0;
  for (const [word, tokens] of words.entries()) for (const _ of tokens) sent.source[place++].word = word;
  return new Translation(sent);
}

test('maps are subtracted only if their axes are the same words, and swapped words are named', () => {
  const options = { words: false, special: true, rescale: false };
  const place = { kind: 'cross', layer: 0, head: 0 };
  const before = makeTranslation([['Der'], ['Hund'], ['bellt']]);
  const pair = (after, ...actions) =>
    findComparableViews(
      { before, held: after },
      place,
      options,
      actions.map((action) => ({ action })),
    );
  assert.deepEqual(pair(makeTranslation([['Der'], ['Hund'], ['bellt']]), 'remove').swapped, []);
  const swap = pair(makeTranslation([['Der'], ['Kater'], ['bellt']]), 'swap');
  assert.deepEqual([swap.swapped, swap.words], [[['Hund', 'Kater']], false]);
  const longer = pair(makeTranslation([['Der'], ['Ka', 'ter'], ['bellt']]), 'swap');
  assert.deepEqual([longer.swapped.length, longer.words], [1, true]);
  assert.equal(pair(makeTranslation([['Der'], ['bellt']]), 'erase'), null);
  assert.equal(pair(makeTranslation([['Der'], ['bellt'], ['laut']]), 'erase', 'swap'), null, 'equally many words, but different ones');
  assert.equal(pair(makeTranslation([['Hund'], ['bellt'], ['laut']]), 'swap'), null, 'more words differ than were swapped');
});

test('a moved weight keeps the proportions of its row, which sums to one', () => {
  assert.deepEqual(rescaleRow([0.5, 0.3, 0.2], 0, 0.75), [0.75, 0.15, 0.1]);
  assert.deepEqual(rescaleRow([0.25, 0.75, NaN], 0, 1), [1, 0, NaN]);
  assert.deepEqual(rescaleRow([1, 0, 0], 0, 0.5), [0.5, 0.25, 0.25], 'evenly without other weights');
  assert.deepEqual(rescaleRow([1, NaN], 0, 0.5), [1, NaN], 'a row with one key has no other');
});
