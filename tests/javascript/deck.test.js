import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

globalThis.localStorage = /** @type {any} */ ({
  kept: {},
  full: false,
  getItem(key) {
    return this.kept[key] ?? null;
  },
  setItem(key, value) {
    if (this.full) throw new Error('full');
    this.kept[key] = value;
  },
  removeItem(key) {
    delete this.kept[key];
  },
});

const { LIMITS, validate, deckInLink, toFile, fromFile, moveItem, encodeViews, read, decodeViews, write } = await import(
  '../../viz/widgets/deck/saved-views.js'
);

const view = (title, note = '') => ({ title, note, hash: `#text=${title}&tab=heads` });
const VIEWS = [view('Softmax', 'Wer sieht wen? <b>'), view('层归一化', '两行\n说明'), view('Why')];

test('a view is moved by one place, and never beyond an end', () => {
  const titles = (views) => views.map(({ title }) => title).join(' ');
  assert.equal(titles(moveItem(VIEWS, 0, 1)), '层归一化 Softmax Why');
  assert.equal(titles(moveItem(VIEWS, 2, -1)), 'Softmax Why 层归一化');
  assert.equal(moveItem(VIEWS, 0, -1), VIEWS);
  assert.equal(moveItem(VIEWS, 2, 1), VIEWS);
});

test('views come back from a link and from a file as they went in', async () => {
  assert.deepEqual(await decodeViews(await encodeViews(VIEWS)), VIEWS);
  assert.match(await encodeViews(VIEWS), /^[\w-]+$/); // nothing that an address would change
  assert.deepEqual(fromFile(toFile(VIEWS)), VIEWS);
  assert.equal(deckInLink(`#tab=learn&deck=${await encodeViews(VIEWS)}`), await encodeViews(VIEWS));
  assert.equal(deckInLink('#tab=learn'), '');
  const within = { title: 'a deck', note: '', hash: `#tab=learn&deck=${await encodeViews(VIEWS)}` };
  assert.deepEqual(validate([within, VIEWS[0]]), [VIEWS[0]]); // a view that would take the place of all of them
});

test('what is no deck is refused, and of a deck only views are taken, as long as they may be', async () => {
  for (const text of ['', 'x', '!!!', await encodeViews([]), btoa('[[1]]')]) assert.equal(await decodeViews(text), null, text);
  for (const text of ['', '{}', 'null', '{"format":"other","views":[]}', toFile([])]) assert.equal(fromFile(text), null, text);
  assert.equal(validate('views'), null);
  const others = [null, {}, { hash: 'javascript:alert(1)' }, { hash: 'https://example.org/#a' }, { hash: `#${'x'.repeat(LIMITS.hash)}` }];
  assert.equal(validate(others), null);
  assert.deepEqual(validate([...others, { hash: '#tab=why', title: 3 }]), [{ title: '', note: '', hash: '#tab=why' }]);
  assert.equal(validate([{ hash: '#', title: 'x'.repeat(999), note: 'y'.repeat(9999) }])[0].note.length, LIMITS.note);
  assert.equal(validate(Array.from({ length: 99 }, () => view('x'))).length, LIMITS.views);
});

test('a link that unpacks to far more than views is given up', async () => {
  const many = new Blob([`[["","","#${' '.repeat(3_000_000)}"]]`]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(many).arrayBuffer());
  assert.ok(bytes.length < 10_000);
  assert.equal(await decodeViews(btoa(String.fromCharCode(...bytes))), null);
});

test('views stay in the browser, and one that keeps nothing says so', () => {
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
