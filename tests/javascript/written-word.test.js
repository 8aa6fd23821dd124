// The chosen word of the translation and its rival.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered } from './setup.js';

const { Translation } = await import('../../viz/widgets/core/translation.js');
const { remapWord } = await import('../../viz/widgets/core/pins.js');
const { chooseWord, getChosenRival, wordLabel, getWordPosition } = await import('../../viz/widgets/core/written-word.js');
const { DEFAULTS, set, state } = await import('../../viz/widgets/core/state.js');
const { clampSelection, formatPermalink, parsePermalink } = await import('../../viz/widgets/core/permalink.js');
const { selectionFrom, selectionValues } = await import('../../viz/widgets/core/fields.js');
const { EffectSource } = await import('../../viz/widgets/heads/effect-maps.js');

const [SOURCES, TARGETS] = [
  ['Der', 'Hund', 'schläft', '</s>'],
  ['The', 'dog', 'sleeps', '</s>'],
];
const map = (rows, columns) => Array.from({ length: rows }, () => Array(columns).fill(1 / columns));
const translate = (sources, targets) =>
  new Translation(answered({ sources, targets, maps: [map(targets.length, sources.length), map(targets.length, sources.length)] }));
const translation = translate(SOURCES, TARGETS);
const look = { ...DEFAULTS, kind: 'cross', row: 1, word: 2 };

test('the word is that of the pinned row, in the encoder the chosen one', () => {
  assert.equal(getWordPosition(translation, look), 1);
  assert.equal(getWordPosition(translation, { ...look, row: null }), 2);
  assert.equal(getWordPosition(translation, { ...look, row: 9 }), 2);
  assert.equal(getWordPosition(translation, { ...look, kind: 'encoder' }), 2);
  assert.equal(getWordPosition(translation, { ...look, row: null, word: null }), null);
});

test('choosing a word pins its row if the map has one', () => {
  assert.deepEqual(chooseWord(translation, look, 'cross', 2), { word: 2, row: 2, column: null });
  assert.deepEqual(chooseWord(translation, { ...look, special: false }, 'cross', 3), { word: 3, row: null, column: null });
  assert.deepEqual(chooseWord(translation, { ...look, kind: 'encoder' }, 'encoder', 2), { word: 2 });
  assert.deepEqual(chooseWord(translation, look, 'encoder', 2), { word: 2, row: null, column: null });
  assert.equal(wordLabel(translation, look, 1), 'dog');
});

test('a rival belongs to one word', () => {
  const rival = { place: 2, id: 7 };
  assert.equal(getChosenRival({ rival }, 2), rival);
  assert.equal(getChosenRival({ rival }, 1), null);
  assert.equal(getChosenRival({ rival: null }, 2), null);
});

test('the word and its rival move with the word', () => {
  const longer = translate(SOURCES, ['The', 'old', 'dog', 'sleeps', '</s>']);
  assert.deepEqual(remapWord(translation, longer, { word: 1, rival: { place: 2, id: 7 } }), { word: 2, rival: { place: 3, id: 7 } });
  assert.deepEqual(remapWord(longer, translation, { word: 1, rival: { place: 1, id: 7 } }), { word: null, rival: null });
  assert.deepEqual(remapWord(translation, longer, { word: null, rival: null }), { word: null, rival: null });
});

test('links keep the word and the rival', () => {
  for (const [rival, text] of [
    [{ place: 2, id: 1227 }, 'rival=2.1227'],
    [{ place: 0, id: null }, 'rival=0.none'],
  ]) {
    set({ word: 3, rival });
    const link = formatPermalink();
    assert.ok(link.includes(`word=3&${text}`), link);
    const { word, rival: read } = parsePermalink(link);
    assert.deepEqual({ word, rival: read }, { word: 3, rival });
    assert.deepEqual(selectionFrom(selectionValues(state)).rival, rival);
  }
  assert.deepEqual(selectionValues({ rival: { place: 2, id: null } }).rival, [2, null]);
  set({ word: null, rival: null });
  assert.ok(!formatPermalink().includes('rival'));
  assert.deepEqual(parsePermalink('#word=x&rival=2.x'), { request: {} });
  for (const text of ['', '2', '.5', '2.', '2.5.6', '-1.5', '99999.5'])
    assert.deepEqual(parsePermalink(`#rival=${text}`), { request: {} }, text);
});

test('a word behind the end of the translation is not chosen', () => {
  const { word, rival } = clampSelection(translation, { ...look, word: 4, rival: { place: 4, id: 7 } });
  assert.deepEqual([word, rival], [null, null]);
  const inside = clampSelection(translation, { ...look, word: 3, rival: { place: 3, id: 7 } });
  assert.deepEqual([inside.word, inside.rival], [3, { place: 3, id: 7 }]);
});

test('effects of several heads are sums, and have no maximum', () => {
  const source = new EffectSource(translation, /** @type {any} */ ({ word: null, cells: () => null, subject: () => null }));
  const heads = () => source.wallLayout('cross', { ...state, averages: true })[0].map(({ head }) => head);
  assert.deepEqual(heads(), [0, 1, 'mean', 'max']);
  const names = () => [0, 'mean'].map((head) => source.headName({ layer: 0, head }));
  assert.deepEqual([...names(), source.averageName], ['Layer 1 · Head 1', 'Layer 1 · Mean of heads', 'avg']);
  set({ view: 'effect' });
  assert.deepEqual(heads(), [0, 1, 'mean']);
  assert.deepEqual([...names(), source.averageName], ['Layer 1 · Head 1', 'Layer 1 · Sum of heads', 'sum']);
  set({ view: 'matrix' });
});

test('the chosen word is framed while the encoder shows effects', () => {
  const source = new EffectSource(translation, /** @type {any} */ ({ word: 2 }));
  assert.deepEqual(source.chosenKeys(), []);
  set({ view: 'effect' });
  assert.deepEqual(source.chosenKeys(), ['t2']);
  assert.deepEqual(new EffectSource(translation, /** @type {any} */ ({ word: null })).chosenKeys(), []);
  set({ view: 'matrix' });
});
