import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

globalThis.localStorage = /** @type {any} */ ({
  items: {},
  full: false,
  getItem(key) {
    return this.items[key] ?? null;
  },
  setItem(key, value) {
    if (this.full) throw new Error('full');
    this.items[key] = value;
  },
  removeItem(key) {
    delete this.items[key];
  },
});

const { LIMITS, validate, getDeckInLink, toFile, fromFile, moveItem, encodeViews, read, decodeViews, write } = await import(
  '../../viz/widgets/deck/saved-views.js'
);

const view = (title, note = '') => ({ title, note, hash: `#text=${title}&tab=heads` });
const VIEWS = [view('Softmax', 'Wer sieht wen? <b>'), view('层归一化', '两行\n说明'), view('Why')];

test('a view is moved by one position within the list', () => {
  const titles = (views) => views.map(({ title }) => title).join(' ');
  assert.equal(titles(moveItem(VIEWS, 0, 1)), '层归一化 Softmax Why');
  assert.equal(titles(moveItem(VIEWS, 2, -1)), 'Softmax Why 层归一化');
  assert.equal(moveItem(VIEWS, 0, -1), VIEWS);
  assert.equal(moveItem(VIEWS, 2, 1), VIEWS);
});

test('views roundtrip through links and files', async () => {
  assert.deepEqual(await decodeViews(await encodeViews(VIEWS)), VIEWS);
  assert.match(await encodeViews(VIEWS), /^[\w-]+$/); // no characters that an address would escape
  assert.deepEqual(fromFile(toFile(VIEWS)), VIEWS);
  assert.equal(getDeckInLink(`#tab=learn&deck=${await encodeViews(VIEWS)}`), await encodeViews(VIEWS));
  assert.equal(getDeckInLink('#tab=learn'), '');
  const within = { title: 'a deck', note: '', hash: `#tab=learn&deck=${await encodeViews(VIEWS)}` };
  assert.deepEqual(validate([within, VIEWS[0]]), [VIEWS[0]]); // a view that contains a deck is dropped
});

test('invalid decks are rejected, and views are validated and truncated', async () => {
  for (const text of ['', 'x', '!!!', await encodeViews([]), btoa('[[1]]')]) assert.equal(await decodeViews(text), null, text);
  for (const text of ['', '{}', 'null', '{"format":"other","views":[]}', toFile([])]) assert.equal(fromFile(text), null, text);
  assert.equal(validate('views'), null);
  const others = [null, {}, { hash: 'javascript:alert(1)' }, { hash: 'https://example.org/#a' }, { hash: `#${'x'.repeat(LIMITS.hash)}` }];
  assert.equal(validate(others), null);
  assert.deepEqual(validate([...others, { hash: '#tab=why', title: 3 }]), [{ title: '', note: '', hash: '#tab=why' }]);
  assert.equal(validate([{ hash: '#', title: 'x'.repeat(999), note: 'y'.repeat(9999) }])[0].note.length, LIMITS.note);
  assert.equal(validate(Array.from({ length: 99 }, () => view('x'))).length, LIMITS.views);
});

test('a link that decompresses to too much data is rejected', async () => {
  const many = new Blob([`[["","","#${' '.repeat(3_000_000)}"]]`]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(many).arrayBuffer());
  assert.ok(bytes.length < 10_000);
  assert.equal(await decodeViews(btoa(String.fromCharCode(...bytes))), null);
});

test('views are stored in the browser, and a full storage is reported', () => {
  assert.deepEqual(read(), []);
  assert.equal(write(VIEWS), true);
  assert.deepEqual(read(), VIEWS);
  localStorage.setItem('headlight-deck', '{broken');
  assert.deepEqual(read(), []);
  assert.equal(write([]), true);
  assert.equal(localStorage.getItem('headlight-deck'), null);
  /** @type {any} */ (localStorage).full = true;
  assert.equal(write(VIEWS), false);
});
