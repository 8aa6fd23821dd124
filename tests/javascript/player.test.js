import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered } from './setup.js';

globalThis.matchMedia ??= () => ({ matches: false });
const { Translation } = await import('../../viz/widgets/core/translation.js');
const { axes } = await import('../../viz/widgets/core/map-view.js');
const { selectPlayed, getRowEnds } = await import('../../viz/widgets/heads/player.js');
const { listCandidates } = await import('../../viz/widgets/heads/candidates.js');
const { findTokenRow, countWrittenCells } = await import('../../viz/widgets/headview/unwritten.js');
const { encodeGif } = await import('../../viz/widgets/parts/gif.js');

const SOURCES = ['Der', 'Hund', '</s>'];
const TARGETS = ['The', 'dog', 'sleeps', '</s>'];
const SHOWN = { words: false, special: true };

function translation() {
  const map = Array.from({ length: TARGETS.length }, () => Array(SOURCES.length).fill(1 / SOURCES.length));
  return new Translation(answered({ sources: SOURCES, targets: TARGETS, maps: [map] }));
}

test('a decoder row names the previous word and the word being written', () => {
  const answer = translation();
  const names = (kind, words = false) =>
    axes(answer, kind, { ...SHOWN, words }).rows.map(({ read, label }) => [read?.label ?? null, label]);
  const expected = [
    [answer.start.label, 'The'],
    ['The', 'dog'],
    ['dog', 'sleeps'],
    ['sleeps', '</s>'],
  ];
  assert.deepEqual(names('cross'), expected);
  assert.deepEqual(names('decoder'), expected);
  assert.ok(names('encoder').every(([read]) => read === null));
});

test('a row of a whole word follows the whole previous word', () => {
  const answer = translation();
  answer.text = 'The dog sleeps';
  answer.target = answer.target.map((token, place) => ({ ...token, word: [0, 1, 1, 2][place], special: place === 3 }));
  const [, dog, end] = axes(answer, 'cross', { ...SHOWN, words: true }).rows;
  assert.deepEqual(dog.places, [1, 2]);
  assert.equal(dog.read.label, 'The');
  assert.equal(end.read.label, dog.label);
});

test('each step ends a row, and a hidden end token belongs to the last word', () => {
  assert.deepEqual(getRowEnds(translation(), SHOWN), [1, 2, 3, 4]);
  assert.deepEqual(getRowEnds(translation(), { words: false, special: false }), [1, 2, 4]);
});

test('the selected row is that of the token being written, and the last step is the complete answer', () => {
  const selected = (kind, count) => selectPlayed(translation(), { kind, ...SHOWN }, count);
  assert.deepEqual([selected('cross', 2).written, selected('cross', 2).row, selected('cross', 2).column], [2, 1, null]);
  assert.deepEqual([selected('cross', 4).written, selected('cross', 4).row], [null, 3]);
  assert.equal('row' in selected('encoder', 2), false); // the encoder selection does not change
});

test('only written tokens have rows, and decoder columns are the previous tokens', () => {
  const answer = translation();
  const sizeAt = (kind, written) => countWrittenCells(answer, { kind, ...axes(answer, kind, SHOWN) }, written);
  assert.deepEqual(sizeAt('cross', 2), { rows: 2, columns: 3 });
  assert.deepEqual(sizeAt('decoder', 2), { rows: 2, columns: 2 }); // the start and the first word
  assert.deepEqual(sizeAt('encoder', 2), { rows: 3, columns: 3 });
  assert.deepEqual(sizeAt('decoder', null), { rows: 4, columns: 4 });
  assert.equal(findTokenRow({ kind: 'cross', ...axes(answer, 'cross', SHOWN) }, 2), 2);
  assert.equal(findTokenRow({ kind: 'encoder', ...axes(answer, 'encoder', SHOWN) }, 2), null);
});

const token = (id, label = String(id), special = false) => ({ id, label, special });
// parent, step, id, text, log probability, score, outcome
const TREE = [
  [-1, 0, 7, ' The', 0, -0.1, 'kept'],
  [-1, 0, 8, ' A', 0, -0.9, 'kept'],
  [0, 1, 5, ' dog', 0, -0.3, 'kept'],
  [1, 1, 5, ' dog', 0, -0.2, 'dropped'],
  [2, 2, 2, '', 0, -0.25, 'finished'],
];

test('candidates of a step are sorted by score with their path; the chosen one is marked', () => {
  const answer = { tree: TREE, target: [token(7), token(5), token(2, '</s>', true)] };
  assert.deepEqual(listCandidates(answer, 1), [
    { text: 'A dog', score: -0.2, outcome: 'dropped', isChosen: false },
    { text: 'The dog', score: -0.3, outcome: 'kept', isChosen: true },
  ]);
  assert.deepEqual(listCandidates(answer, 2), [{ text: 'The dog </s>', score: -0.25, outcome: 'finished', isChosen: true }]);
  assert.deepEqual(listCandidates({ ...answer, tree: [] }, 1), []);
  const longer = [...TREE, [3, 2, 6, ' barks', 0, -0.5, 'kept'], [5, 3, 2, '', 0, -0.6, 'finished'], [5, 3, 6, ' on', 0, -0.8, 'dropped']];
  assert.deepEqual(
    listCandidates({ ...answer, tree: longer }, 1).map(({ isChosen }) => isChosen),
    [false, true], // although other candidates continue after its end
  );
  const continued = { ...answer, target: [token(9), ...answer.target] };
  assert.deepEqual(
    listCandidates(continued, 2).map(({ text }) => text),
    ['A dog', 'The dog'], // the first token is a forced prefix
  );
  assert.deepEqual(listCandidates(continued, 0), []);
});

/** Decode the frames of a GIF by its specification: the colour of each pixel. */
function decodeGif(bytes) {
  const short = (at) => bytes[at] | (bytes[at + 1] << 8);
  const size = short(6) * short(8);
  const table = Array.from({ length: 256 }, (_, place) => [...bytes.subarray(13 + 3 * place, 16 + 3 * place)]);
  const frames = [];
  let at = 13 + 768;
  let delay = 0;
  while (bytes[at] !== 0x3b) {
    if (bytes[at] === 0x21) {
      if (bytes[at + 1] === 0xf9) delay = short(at + 4);
      at += 2;
      while (bytes[at]) at += bytes[at] + 1;
      at += 1;
      continue;
    }
    assert.equal(bytes[at], 0x2c);
    at += 11;
    const data = [];
    while (bytes[at]) {
      data.push(...bytes.subarray(at + 1, at + 1 + bytes[at]));
      at += bytes[at] + 1;
    }
    at += 1;
    frames.push({ delay, pixels: decompress(data).map((value) => table[value]) });
    assert.equal(frames.at(-1).pixels.length, size);
  }
  return frames;
}

function decompress(data) {
  const pixels = [];
  let [bits, filled, next, width] = [0, 0, 0, 9];
  let codes = [];
  let last = null;
  const read = () => {
    while (filled < width) {
      bits |= data[next++] << filled;
      filled += 8;
    }
    const code = bits & ((1 << width) - 1);
    bits >>>= width;
    filled -= width;
    return code;
  };
  for (let code = read(); code !== 257; code = read()) {
    if (code === 256) {
      codes = Array.from({ length: 258 }, (_, value) => [value]);
      [width, last] = [9, null];
      continue;
    }
    const word = codes[code] ?? [...last, last[0]];
    pixels.push(...word);
    if (last && codes.length < 4096) codes.push([...last, word[0]]);
    if (codes.length === 1 << width && width < 12) width += 1;
    last = word;
  }
  return pixels;
}

test('a GIF contains the exact pixels, also with several dictionaries, and the nearest colours if there are too many', () => {
  const [width, height] = [211, 197];
  let seed = 1;
  const random = () => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
  const frame = (colours) => {
    const pixels = new Uint8ClampedArray(4 * width * height);
    for (let place = 0; place < width * height; place++) pixels.set([...colours[Math.floor(random() * colours.length)], 255], 4 * place);
    return pixels;
  };
  const grey = Array.from({ length: 200 }, (_, level) => [level, level, level]);
  const frames = [frame(grey), frame([[1, 1, 1]]), frame(grey.slice(0, 3))].map((pixels, place) => ({ pixels, delay: 100 * (place + 1) }));
  const bytes = (images) => Uint8Array.from(encodeGif(images, width, height).flatMap((part) => [...part]));
  const decoded = decodeGif(bytes(frames));
  assert.deepEqual(
    decoded.map(({ delay }) => delay),
    [10, 20, 30],
  );
  for (const [place, { pixels }] of decoded.entries()) {
    assert.deepEqual(
      pixels.flat(),
      [...frames[place].pixels].filter((_, at) => at % 4 < 3),
    );
  }
  const many = Array.from({ length: 300 }, (_, place) => [place % 256, place % 256, Math.floor(place / 256)]);
  const [{ pixels }] = decodeGif(bytes([{ pixels: frame(many), delay: 50 }]));
  assert.ok(pixels.every(([red, green]) => red === green));
});
