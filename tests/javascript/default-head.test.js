import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered } from './setup.js';

const { Translation } = await import('../../viz/widgets/core/translation.js');
const { defaultHead } = await import('../../viz/widgets/core/default-head.js');
const { selectInKind, remapRow, findInformativeRow } = await import('../../viz/widgets/core/selection.js');

const SOURCES = ['Ich', 'habe', 'Bier', 'getrunken', '</s>'];
const TARGETS = ['I', 'drank', 'beer', '</s>'];
const HEAD = { kind: 'cross', layer: 0, head: 0 };
const PLAIN = { words: false, special: true };

/** A map whose rows have 0.9 of their weight on these columns and the rest on the first one. */
const rowsAt = (...columns) => columns.map((at) => SOURCES.map((_, column) => 0.9 * (column === at) + 0.1 * (column === 0)));

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

test('the default row shows a reordered word', () => {
  assert.equal(findInformativeRow(translated([rowsAt(0, 3, 2, 4)]), HEAD, PLAIN), 1);
});

test('for a head that attends to the previous target word, the default row is the next one', () => {
  const after = translated([rowsAt(4, 0, 3, 2)], { layer: 0, head: 0, shift: 1 });
  assert.equal(findInformativeRow(after, HEAD, PLAIN), 2);
});

test('at the default head, the row is the one chosen by the server, for all display options', () => {
  const translation = translated([rowsAt(0, 3, 2, 4), rowsAt(0, 3, 2, 4)]);
  translation.opening = { layer: 0, head: 0, row: 2 };
  assert.deepEqual(defaultHead(translation), { layer: 0, head: 0 });
  assert.equal(findInformativeRow(translation, HEAD, PLAIN), 2);
  assert.equal(findInformativeRow(translation, HEAD, { words: true, special: false }), 2);
  assert.equal(findInformativeRow(translation, { ...HEAD, head: 1 }, PLAIN), 1);
  translation.opening = { layer: 0, head: 0, row: 3 }; // the end token, which is hidden
  assert.equal(findInformativeRow(translation, HEAD, { words: false, special: false }), 1);
});

test('without a reordered word, the row is the one farthest from the diagonal', () => {
  assert.equal(findInformativeRow(translated([rowsAt(1, 1, 3, 4)]), HEAD, PLAIN), 0);
});

test('there is a row even without a clear one, and none without rows', () => {
  const uniform = translated([[...rowsAt(0, 0, 0, 0).slice(1), SOURCES.map(() => 0.2)]]);
  assert.equal(typeof findInformativeRow(uniform, HEAD, PLAIN), 'number');
  const empty = new Translation(answered({ sources: SOURCES, targets: [], maps: [[]] }));
  assert.equal(findInformativeRow(empty, HEAD, PLAIN), null);
});

test('in another kind, the selected word becomes the source word that it attends to', () => {
  const state = { ...HEAD, ...PLAIN, row: 1, lastHeads: {} };
  const selection = selectInKind(translated([rowsAt(0, 3, 2, 4)]), state, 'encoder');
  assert.deepEqual([selection.kind, selection.layer, selection.head, selection.row], ['encoder', 0, 1, 3]); // the head of the previous token
  const crossSelection = selectInKind(translated([rowsAt(0, 3, 2, 4)]), { ...state, ...selection, head: 0 }, 'cross');
  assert.deepEqual([crossSelection.layer, crossSelection.head, crossSelection.row], [0, 0, 1]);
  assert.deepEqual(crossSelection.lastHeads.encoder, { layer: 0, head: 0 });
});

test('for a shifted head, the translated word is in the next row', () => {
  const after = translated([rowsAt(4, 0, 3, 2)], { layer: 0, head: 0, shift: 1 });
  const selection = selectInKind(after, { ...HEAD, ...PLAIN, row: 1, lastHeads: { encoder: { layer: 0, head: 0 } } }, 'encoder');
  assert.deepEqual([selection.head, selection.row], [0, 3]);
});

test('the selected row follows its word if special tokens are hidden, and is cleared with its own token', () => {
  const translation = translated([rowsAt(0, 3, 2, 4)]);
  assert.equal(remapRow(translation, { ...HEAD, ...PLAIN, row: 2 }, { special: false }), 2);
  assert.equal(remapRow(translation, { ...HEAD, ...PLAIN, row: 3 }, { special: false }), null);
  assert.equal(remapRow(translation, { ...HEAD, ...PLAIN, row: null }, { special: false }), null);
});
