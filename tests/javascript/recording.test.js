import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { Recording } = await import('../../viz/widgets/core/recording.js');
const { MAX_LEVEL, decodeWeights, decodeCodes } = await import('../../viz/widgets/core/weight-decoding.js');
const { RecordingSource } = await import('../../viz/widgets/recording/recording-source.js');
const { getSelection, parseSelection } = await import('../../viz/widgets/notebook/selection-sync.js');
const { addItemNumber } = await import('../../viz/widgets/headview/strongest-list.js');
const { isDark } = await import('../../viz/widgets/notebook/environment.js');

const tokens = (labels) => {
  let at = -1;
  return labels.map((label, word) => {
    const start = at + 1;
    at = start + label.length;
    return { label, text: label, word, start, end: at, special: false };
  });
};

/** One layer of two heads over three tokens; keys above the diagonal are masked. */
const values = (more = {}) => ({
  name: 'small',
  kinds: { self: { shape: [1, 2, 3, 3], layers: [4], allowed: '100110111' } },
  remarks: [],
  source: tokens(['a', 'b', 'c']),
  source_text: 'a b c',
  target: [],
  text: '',
  before: null,
  ...more,
});
const numbers = (weights) => Uint16Array.from(weights, (weight) => Math.round(weight * MAX_LEVEL));
const HEADS = [1, 0, 0, 0.5, 0.5, 0, 0.25, 0.25, 0.5, 1, 0, 0, 0, 1, 0, 0, 0, 1];
const EVERYTHING = { layer: 0, head: 0, words: false, special: true };

test('character codes are decoded as in weight strings', () => {
  const letters = '!#$%(Āa';
  const expected = decodeWeights(letters);
  const plain = Array.from({ length: 0x7f - 0x21 }, (_, code) => String.fromCharCode(code + 0x21)).filter(
    (each) => !'"&\'<>\\'.includes(each),
  );
  const places = [...letters].map((letter) => (letter === 'Ā' ? plain.length : plain.indexOf(letter)));
  const bytes = Uint8Array.from([...places.map((place) => place % 256), ...places.map((place) => place >> 8)]);
  assert.deepEqual([...decodeCodes(bytes)], [...expected]);
});

test('a recording has the interface of a translation, and masked cells are NaN', () => {
  const recording = new Recording(values(), { self: numbers(HEADS) });
  const { weights } = recording.map('self', 0, 0);
  assert.deepEqual([...weights], [1, NaN, NaN, 0.5, 0.5, NaN, 0.25, 0.25, 0.5]);
  assert.deepEqual([...recording.map('self', 0, 'max').weights].slice(6), [0.25, 0.25, 1]);
  assert.equal(recording.masked('self'), true);
  const maps = new RecordingSource(recording);
  assert.deepEqual(maps.kinds, ['self']);
  assert.equal(maps.headName({ layer: 0, head: 1 }), 'Layer 5 · Head 2');
  assert.equal(maps.captionElements({ kind: 'self', layer: 0, head: 1 })[0], 'A row covers about 1.0 tokens.');
  const [side, ...others] = maps.sentences('self', EVERYTHING);
  assert.deepEqual([side.side, side.tokens.map(({ label }) => label), others.length], ['source', ['a', 'b', 'c'], 0]);
});

test('Python names a layer by its number in the model, the store by its place', () => {
  const kinds = { self: { shape: [2, 2, 3, 3], layers: [4, 7], allowed: null } };
  const recording = new Recording(values({ kinds }), { self: numbers([...HEADS, ...HEADS]) });
  const state = { ...EVERYTHING, kind: 'self', row: null, column: null };
  const selection = (layer) => ({ kind: 'self', layer, head: 1, row: 2, column: null });
  const places = [4, 7, 'mean', 0, 5, 9].map((number) => parseSelection(recording, state, selection(number)).layer);
  assert.deepEqual(places, [0, 1, 'mean', 0, 1, 1]);
  assert.deepEqual(getSelection(recording, { ...state, layer: 1, head: 1, row: 2 }), selection(7));
  assert.deepEqual(getSelection(recording, { ...state, layer: 'mean', head: 1, row: 2 }), selection('mean'));
});

test('missing maps are requested once and available after they arrive', () => {
  const requests = [];
  const recording = new Recording(values(), {}, (each) => requests.push(each));
  for (let time = 0; time < 2; time++) assert.ok(recording.map('self', 0, 1).weights.every(Number.isNaN));
  recording.thumbnailMap('self', { layer: 0, head: 1 });
  assert.deepEqual(
    requests.map(({ heads, small }) => [heads[0].head, small]),
    [
      [1, false],
      [1, true],
    ],
  );
  recording.receive({ kind: 'self', small: false, shape: [3, 3] }, [{ layer: 0, head: 1 }], numbers(HEADS.slice(9)), MAX_LEVEL);
  assert.deepEqual([...recording.map('self', 0, 1).weights], [1, NaN, NaN, 0, 1, NaN, 0, 0, 1]);
});

test('of equal words each has its number on the axis', () => {
  const make = (tag) => ({
    tag,
    nodes: [],
    setAttribute() {},
    append(...nodes) {
      this.nodes.push(...nodes);
    },
  });
  globalThis.document = /** @type {any} */ ({ createElement: make });
  const items = tokens(['the', 'cat', 'the']);
  const text = (node) => (typeof node === 'object' ? node.nodes.map(text).join('') : String(node));
  assert.deepEqual(
    items.map((_, place) => text(addItemNumber(items[place].label, items, place))),
    ['the 1', 'cat', 'the 3'],
  );
});

test('decoder columns are its inputs', () => {
  const kinds = { decoder: { shape: [1, 1, 2, 2], layers: [0], allowed: null } };
  const [target, before] = [tokens(['I', 'am']), [{ label: '<s>', start: 0, end: 0, special: true }, ...tokens(['I'])]];
  const labels = (recording) => recording.columns('decoder').map(({ label, key }) => [label, key]);
  const about = { kinds, target, text: 'I am' };
  const withoutInputs = new Recording(values(about), { decoder: numbers([1, 0, 0, 1]) });
  assert.deepEqual(labels(withoutInputs), [
    ['I', 't0'],
    ['am', 't1'],
  ]);
  const withInputs = new Recording(values({ ...about, before }), { decoder: numbers([1, 0, 0, 1]) });
  assert.deepEqual(labels(withInputs), [
    ['<s>', 'b'],
    ['I', 't0'],
  ]);
  assert.equal(new RecordingSource(withoutInputs).rowVerb({ kind: 'decoder' }, 0), 'says_reading');
  assert.equal(new RecordingSource(withInputs).rowVerb({ kind: 'decoder' }, 0), 'says_writing');
});

test('the first opaque surface under a frame decides about dark mode, else the theme of the notebook', () => {
  const colours = new Map();
  globalThis.getComputedStyle = (element) => ({ backgroundColor: colours.get(element) ?? 'rgba(0, 0, 0, 0)' });
  const page = (dataset, theme = null) => ({ body: { dataset }, documentElement: { getAttribute: () => theme } });
  const surface = { parentElement: null };
  const frame = { parentElement: surface, ownerDocument: page({}) };
  colours.set(surface, 'rgb(17, 17, 17)');
  assert.equal(isDark(frame, false), true);
  colours.set(surface, 'rgb(250, 250, 250)');
  assert.equal(isDark(frame, true), false);
  assert.equal(isDark(null, true), true);
  // In a shadow root, the surface is under the host.
  const inside = { parentElement: null, getRootNode: () => ({ host: surface }), ownerDocument: page({}) };
  assert.equal(isDark(inside, true), false);
  colours.delete(surface);
  for (const [dataset, theme, dark] of [
    [{ vscodeThemeKind: 'vscode-dark' }, null, true],
    [{ vscodeThemeKind: 'vscode-light' }, null, false],
    [{ vscodeThemeKind: 'vscode-high-contrast' }, null, true],
    [{ vscodeThemeKind: 'vscode-high-contrast-light' }, null, false],
    [{ jpThemeLight: 'false' }, null, true],
    [{ jpThemeLight: 'true' }, null, false],
    [{}, 'dark', true],
    [{}, 'light', false],
  ])
    assert.equal(isDark({ parentElement: surface, ownerDocument: page(dataset, theme) }, !dark), dark);
  assert.equal(isDark(frame, true), true);
  assert.equal(isDark(frame, false), false);
});

test('the maps of a vision model are about its image', () => {
  const described = (places, more = {}, kind = 'self') => {
    const picture = { image: '', rows: 1, columns: 2, places };
    const source = tokens(['a', 'b', 'c']).map((token, place) => ({ ...token, special: place === 0 }));
    return new RecordingSource(new Recording(values({ source, picture, ...more }), { self: numbers(HEADS) })).kindText(kind);
  };
  assert.equal(described([null, 0, 1]), 'Each token of the image (row) looks at tokens of the same image (column).');
  assert.equal(described([0, 1, null]), 'Each token (row) looks at tokens of the same image and text (column).');
  const cross = { kinds: { cross: { shape: [1, 2, 3, 3], layers: [0], allowed: null } }, target: tokens(['x', 'y', 'z']) };
  assert.match(described([null, 0, 1], cross, 'cross'), /^Each token that the decoder has read .* every token of the image \(column\)/);
  const answer = { ...cross, before: tokens(['<s>', 'x', 'y']) };
  assert.match(described([null, 0, 1], answer, 'cross'), /^Each word being written .* every token of the image \(column\)/);
  assert.match(described([null, 0, 1], answer, 'decoder'), /words already written/);
  const plain = new RecordingSource(new Recording(values(), { self: numbers(HEADS) }));
  assert.equal(plain.kindText('self'), 'Each token (row) looks at tokens of the same text (column).');
});
