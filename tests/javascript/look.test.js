import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered } from './setup.js';

const { Translation } = await import('../../viz/widgets/core/translation.js');
const { defaultHead } = await import('../../viz/widgets/core/default-head.js');
const { selectionInKind, remapRow, informativeRow } = await import('../../viz/widgets/core/selection.js');

const SOURCES = ['Ich', 'habe', 'Bier', 'getrunken', '</s>'];
const TARGETS = ['I', 'drank', 'beer', '</s>'];
const HEAD = { kind: 'cross', layer: 0, head: 0 };
const PLAIN = { words: false, special: true };

/** A map whose rows look at these columns, each with 0.9 of its weight, and at the first with the rest. */
const pointing = (...columns) => columns.map((at) => SOURCES.map((_, column) => 0.9 * (column === at) + 0.1 * (column === 0)));

function translated(maps, best = null) {
  const translation = new Translation(answered({ sources: SOURCES, targets: TARGETS, maps }));
  translation.model.best_head = best;
  translation.late = best ? [[best.layer, best.head]] : [];
  const numbers = new Uint16Array(SOURCES.length ** 2);
  translation.tensors.encoder = { shape: [1, 2, SOURCES.length, SOURCES.length], numbers };
  translation.roles = {
    encoder: [
      [
        ['unclear', 0.2, 4],
        ['previous', 0.7, 2],
        ['unclear', 0.1, 3],
      ],
    ],
  };
  return translation;
}

test('the row to begin with shows a word that changes its place', () => {
  assert.equal(informativeRow(translated([pointing(0, 3, 2, 4)]), HEAD, PLAIN), 1);
});

test('of a head that looks at what is just translated, the row after that word is told', () => {
  const after = translated([pointing(4, 0, 3, 2)], { layer: 0, head: 0, shift: 1 });
  assert.equal(informativeRow(after, HEAD, PLAIN), 2);
});

test('at the head to begin with, the row is the one that the server chose, also where tokens are shown otherwise', () => {
  const translation = translated([pointing(0, 3, 2, 4), pointing(0, 3, 2, 4)]);
  translation.opening = { layer: 0, head: 0, row: 2 };
  assert.deepEqual(defaultHead(translation), { layer: 0, head: 0 });
  assert.equal(informativeRow(translation, HEAD, PLAIN), 2);
  assert.equal(informativeRow(translation, HEAD, { words: true, special: false }), 2);
  assert.equal(informativeRow(translation, { ...HEAD, head: 1 }, PLAIN), 1);
  translation.opening = { layer: 0, head: 0, row: 3 }; // the end token, which is not shown now
  assert.equal(informativeRow(translation, HEAD, { words: false, special: false }), 1);
});

test('where no word changes its place, the row is the one farthest off the diagonal', () => {
  assert.equal(informativeRow(translated([pointing(1, 1, 3, 4)]), HEAD, PLAIN), 0);
});

test('a row is told of even where none is clear, and none where there is none', () => {
  const faint = translated([[...pointing(0, 0, 0, 0).slice(1), SOURCES.map(() => 0.2)]]);
  assert.equal(typeof informativeRow(faint, HEAD, PLAIN), 'number');
  const empty = new Translation(answered({ sources: SOURCES, targets: [], maps: [[]] }));
  assert.equal(informativeRow(empty, HEAD, PLAIN), null);
});

test('in another kind the word goes along, as the word that it depends on', () => {
  const state = { ...HEAD, ...PLAIN, row: 1, lastHeads: {} };
  const found = selectionInKind(translated([pointing(0, 3, 2, 4)]), state, 'encoder');
  assert.deepEqual([found.kind, found.layer, found.head, found.row], ['encoder', 0, 1, 3]); // the head that looks one back
  const back = selectionInKind(translated([pointing(0, 3, 2, 4)]), { ...state, ...found, head: 0 }, 'cross');
  assert.deepEqual([back.layer, back.head, back.row], [0, 0, 1]);
  assert.deepEqual(back.lastHeads.encoder, { layer: 0, head: 0 });
});

test('the word that a head has just translated stands in the row after it', () => {
  const after = translated([pointing(4, 0, 3, 2)], { layer: 0, head: 0, shift: 1 });
  const found = selectionInKind(after, { ...HEAD, ...PLAIN, row: 1, lastHeads: { encoder: { layer: 0, head: 0 } } }, 'encoder');
  assert.deepEqual([found.head, found.row], [0, 3]);
});

test('a chosen row stays with its word when special tokens go, and is let go with its own', () => {
  const translation = translated([pointing(0, 3, 2, 4)]);
  assert.equal(remapRow(translation, { ...HEAD, ...PLAIN, row: 2 }, { special: false }), 2);
  assert.equal(remapRow(translation, { ...HEAD, ...PLAIN, row: 3 }, { special: false }), null);
  assert.equal(remapRow(translation, { ...HEAD, ...PLAIN, row: null }, { special: false }), null);
});
