// Files that declare more than they hold, or more than the page can show, are rejected before the work starts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { parseFile } = await import('../../viz/widgets/recording/parse-file.js');
const { MAX_CHARACTERS, MAX_WEIGHTS, parseNpy } = await import('../../viz/widgets/recording/npz.js');

const latin = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const json = (values) => new File([JSON.stringify(values)], 'own.json');
const rejects = (file, word, values) =>
  assert.rejects(parseFile(file), (error) => {
    assert.equal(error.word, word);
    if (values) assert.deepEqual(error.values, values);
    return true;
  });

/** A NumPy array of this header, with the given bytes. */
function npy(type, shape, content = new Uint8Array(0), header = `{'descr': '${type}', 'fortran_order': False, 'shape': ${shape}, }\n`) {
  const bytes = new Uint8Array(10 + header.length + content.length);
  bytes.set([0x93, ...latin('NUMPY'), 1, 0, header.length % 256, header.length >> 8]);
  bytes.set(latin(header), 10);
  bytes.set(content, 10 + header.length);
  return bytes;
}

/** A zip archive of stored files. */
function npz(files) {
  const [parts, entries] = [[], []];
  let at = 0;
  const record = (length, fields) => {
    const view = new DataView(new ArrayBuffer(length));
    for (const [place, value, size] of fields) size === 2 ? view.setUint16(place, value, true) : view.setUint32(place, value, true);
    return new Uint8Array(view.buffer);
  };
  for (const [name, content] of files) {
    const letters = latin(name);
    const local = record(30, [
      [0, 0x04034b50],
      [26, letters.length, 2],
    ]);
    entries.push(
      record(46, [
        [0, 0x02014b50],
        [20, content.length],
        [24, content.length],
        [28, letters.length, 2],
        [42, at],
      ]),
      letters,
    );
    parts.push(local, letters, content);
    at += 30 + letters.length + content.length;
  }
  const end = record(22, [
    [0, 0x06054b50],
    [10, files.length, 2],
    [16, at],
  ]);
  return new File([...parts, ...entries, end], 'own.npz');
}

const floats = (...numbers) => new Uint8Array(Float32Array.from(numbers).buffer);
const map = npy('<f4', '(1, 1, 2, 2)', floats(1, 0, 0.5, 0.5));

test('the archive of this file is read', async () => {
  const { source } = await parseFile(
    npz([
      ['self.npy', map],
      ['tokens.npy', npy('|S1', '(2,)', latin('ab'))],
    ]),
  );
  assert.deepEqual(
    source.map(({ label }) => label),
    ['a', 'b'],
  );
});

test('sizes that the bytes do not hold are rejected', async () => {
  await rejects(json({ cross: { numbers: [1], shape: [1, 1, 20_000, 20_000] } }), 'no_attention', { names: 'cross' });
  await rejects(json({ cross: { numbers: [1] } }), 'no_attention');
  await rejects(
    npz([
      ['self.npy', map],
      ['tokens.npy', npy('<U0', '(100000000,)')],
    ]),
    'broken',
  );
  await rejects(npz([['self.npy', npy('<f4', '(1, 1, 1000, 1000)', floats(1))]]), 'broken');
  for (const shape of ['(-2, -2, 1, 1)', '(0.5, 2, 1, 1)', '(1, 1, NaN, 1)', '(1, 1, Infinity, 1)', '(1, 1, 1e9, 1)', '(1, 1, x, 1)'])
    await rejects(npz([['self.npy', npy('<f4', shape, floats(1, 1, 1, 1))]]), 'broken');
  await rejects(npz([['self.npy', map.subarray(0, 11)]]), 'kind_of_array');
  assert.throws(() => parseNpy(Uint8Array.from([0x93, ...latin('NUMPY'), 2, 0, 1, 0])), { word: 'broken' });
});

test('a long header is not searched', () => {
  const header = "'shape':(".repeat(5000);
  assert.throws(() => parseNpy(npy('', '', new Uint8Array(0), header)), { word: 'broken' });
});

test('more than can be shown is rejected before it is read', async () => {
  await rejects(json({ self: Array.from({ length: 60_000 }, () => [[[1]]]) }), 'many_heads', { kind: 'self', count: 60_000, limit: 6000 });
  const heads = npy('<f4', '(1, 60000, 1, 1)', floats(...Array(60_000).fill(1)));
  await rejects(npz([['self.npy', heads]]), 'many_heads', { kind: 'self', count: 60_000, limit: 6000 });
  const layer = npy('<f4', '(1, 1, 1)', floats(1));
  await rejects(npz(Array.from({ length: 6001 }, (_, at) => [`layer_${at}.npy`, layer])), 'many_heads', {
    kind: 'self',
    count: 6001,
    limit: 6000,
  });
  await rejects(json({ cross: [[[Array(5000).fill(0)]]] }), 'many_tokens', { kind: 'cross', count: 5000, limit: 4096 });
  await rejects(json({ cross: [[Array(5000).fill([1])]] }), 'many_tokens', { kind: 'cross', count: 5000, limit: 4096 });
  const many = npy('<f2', `(${MAX_WEIGHTS + 1},)`, new Uint8Array(2 * MAX_WEIGHTS + 2));
  await rejects(npz([['self.npy', many]]), 'too_many', { limit: 8 });
});

test('long texts are rejected before they are split', async () => {
  const letters = new Uint8Array(MAX_CHARACTERS + 1).fill(97);
  await rejects(
    npz([
      ['self.npy', map],
      ['tokens.npy', npy('|S1', `(${letters.length},)`, letters)],
    ]),
    'long_texts',
    { limit: 4 },
  );
  await rejects(
    npz([
      ['self.npy', map],
      ['source.npy', npy(`|S${letters.length}`, '()', letters)],
    ]),
    'long_texts',
    { limit: 4 },
  );
  const self = [
    [
      [
        [1, 0],
        [0, 1],
      ],
    ],
  ];
  await rejects(json({ self, tokens: ['a', 'b'.repeat(MAX_CHARACTERS)] }), 'long_texts', { limit: 4 });
  await rejects(json({ self, tokens: ['a', 'b'], source: 'b'.repeat(MAX_CHARACTERS) }), 'long_texts', { limit: 4 });
});
