// Random and hostile permalinks, decks and files for the page's readers. Prints the counts as JSON.
// node fuzz_browser.mjs CASES SEED

import '../../tests/javascript/setup.js';

const { parsePermalink } = await import('../../viz/widgets/core/permalink.js');
const { decodeViews, encodeViews, fromFile, toFile } = await import('../../viz/widgets/deck/saved-views.js');
const { parseFile } = await import('../../viz/widgets/recording/parse-file.js');

const [cases, seed] = process.argv.slice(2).map(Number);
let state = seed >>> 0 || 1;

/** A reproducible number from 0 to below 1. */
function random() {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) / 2 ** 32;
}
const below = (count) => Math.floor(random() * count);
const pick = (list) => list[below(list.length)];
const times = (count, make) => Array.from({ length: count }, make);

const NUMBERS = [0, 1, -1, 0.5, NaN, Infinity, -Infinity, 1e308, 2 ** 53, 4096, 1e9];
const TEXTS = ['', 'a', '<img src=x onerror=alert(1)>', '${x}', '\u202e', '\ud800', '\0', '__proto__', 'constructor', '9'.repeat(400)];
const value = (depth = 0) =>
  pick([
    () => pick(NUMBERS),
    () => pick(TEXTS),
    () => null,
    () => random() < 0.5,
    () => (depth > 4 ? [] : times(below(5), () => value(depth + 1))),
    () => (depth > 4 ? {} : Object.fromEntries(times(below(4), () => [pick(NAMES), value(depth + 1)]))),
  ])();
const NAMES = ['self', 'cross', 'encoder', 'decoder', 'layer_0', 'tokens', 'source_tokens', 'target_tokens', 'source', 'translation', 'shape',
  'numbers', 'attentions', '__proto__', 'toString', 'length'];

// ---------------------------------------------------------------- links

const KEYS = ['text', 'model', 'kind', 'layer', 'head', 'row', 'column', 'view', 'pinned', 'interventions', 'target_ids', 'beam_size', 'seed',
  'lesson', 'threshold', 'written', 'tab', 'review', 'language', 'deck', 'constructor', '__proto__'];
const ACTIONS = ['remove', 'scale', 'drag', 'copy', 'borrow', 'zero', 'shift', 'swap', 'toString', 'constructor', '__proto__'];
const VALUES = ['', '0', '7', '-1', '1e999', 'mean', 'max', '0.0', '1.2.3', '9'.repeat(400), '%', '%00', '1.1.1', 'NaN'];
const FIELDS = ['kind', 'layer', 'head', 'row', 'column', 'amount', 'start'];
const interventions = () =>
  JSON.stringify(times(below(4), () => ({ action: pick(ACTIONS), ...Object.fromEntries(FIELDS.map((name) => [name, value(3)])) })));
const link = () =>
  `#${times(below(9), () => {
    const key = pick(KEYS);
    const text = key === 'interventions' && random() < 0.7 ? interventions() : pick([...VALUES, ...TEXTS]);
    return `${key}=${random() < 0.5 ? text : encodeURIComponent(text.toWellFormed())}`;
  }).join('&')}`;

// ---------------------------------------------------------------- decks

const view = () => ({ title: value(), note: value(), hash: random() < 0.8 ? link() : value() });
const deckText = async () => {
  const views = times(below(6), view);
  if (random() < 0.4) return pick([(text) => text, (text) => text.slice(0, below(text.length)), (text) => text + pick(TEXTS)])(toFile(views));
  if (random() < 0.5) return JSON.stringify({ format: 'headlight-deck', views: value() });
  const text = await encodeViews(views.map(({ title, note, hash }) => ({ title, note, hash })));
  return text.split('').map((letter) => (random() < 0.02 ? pick(['A', '-', '_', '=', '\0']) : letter)).join('');
};
/** A deck link that unpacks to two hundred megabytes. */
async function bomb() {
  const stream = new Blob([new Uint8Array(2e8)]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return Buffer.from(bytes).toString('base64url');
}

// ---------------------------------------------------------------- files

const latin = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0) & 255);
const TYPES = ['<f4', '<f2', '<f8', '|S1', '<U3', '<U0', '|O', '<i8', '>f4', '|b1', '<f99', ''];
const dimension = () => pick([1, 2, 2, 1, 3, 0, -2, 0.5, 1e9, 100000000, 'x', 'NaN']);
/** A NumPy array with a header that may promise too much. */
function npy() {
  const header = `{'descr': '${pick(TYPES)}', 'fortran_order': ${pick(['False', 'True', ''])}, 'shape': (${times(below(6), dimension).join(', ')}), }\n`;
  const content = times(below(200), () => below(256));
  return Uint8Array.from([0x93, ...latin('NUMPY'), pick([1, 1, 2, 9]), 0, header.length & 255, header.length >> 8, ...latin(header), ...content]);
}

/** A zip archive of stored files; `damage` changes random bytes of it. */
function zip(files, damage) {
  const [parts, entries] = [[], []];
  let at = 0;
  const record = (length, fields) => {
    const view = new DataView(new ArrayBuffer(length));
    for (const [place, number, size] of fields) size === 2 ? view.setUint16(place, number, true) : view.setUint32(place, number, true);
    return [...new Uint8Array(view.buffer)];
  };
  for (const [name, content] of files) {
    const letters = [...latin(name)];
    entries.push(...record(46, [[0, 0x02014b50], [20, content.length], [24, content.length], [28, letters.length, 2], [42, at]]), ...letters);
    parts.push(...record(30, [[0, 0x04034b50], [26, letters.length, 2]]), ...letters, ...content);
    at = parts.length;
  }
  const end = record(22, [[0, 0x06054b50], [8, files.length, 2], [10, files.length, 2], [12, entries.length], [16, at]]);
  const bytes = Uint8Array.from([...parts, ...entries, ...end]);
  for (let count = damage; count > 0; count--) bytes[below(bytes.length)] = below(256);
  return bytes;
}

const weights = () => {
  const [layers, heads, queries, keys] = times(4, () => 1 + below(3));
  const isValid = random() < 0.5;
  const number = () => (isValid ? 1 / keys : pick([...NUMBERS, 0.5, 0.25, 'x', null]));
  return times(layers, () => times(heads, () => times(queries, () => times(keys, number))));
};
const file = () => {
  if (random() < 0.5) return new File([zip(times(below(5), () => [`${pick(NAMES)}.npy`, npy()]), pick([0, 0, 1, 5, 40]))], 'own.npz');
  const values = random() < 0.6 ? { [pick(['self', 'cross'])]: weights(), ...(random() < 0.5 ? { tokens: value() } : {}) } : value();
  const text = JSON.stringify(values) ?? '';
  return new File([random() < 0.2 ? text.slice(0, below(text.length)) : text], pick(['own.json', 'own.npz', 'own', '']));
};
const nested = (depth, open, close) => new File([open.repeat(depth) + close.repeat(depth)], 'own.json');
const HOSTILE_FILES = [
  () => new File([JSON.stringify({ cross: { numbers: [1], shape: [1, 1, 20_000, 20_000] } })], 'own.json'),
  () => new File([JSON.stringify({ self: times(60_000, () => [[[1]]]) })], 'own.json'),
  () => new File([JSON.stringify({ self: [[times(4000, () => times(1000, () => 0))]] })], 'own.json'),
  () => nested(100_000, '[', ']'),
  () => nested(100_000, '{"self":', '}'),
  () => new File([`{"tokens":["${'\\u0301'.repeat(500_000)}"],"self":[[[[1]]]]}`], 'own.json'),
  () => new File([zip(times(6500, (_, at) => [`layer_${at}.npy`, npy()]), 0)], 'own.npz'),
  () => new File([new Uint8Array(2e7)], 'own.npz'),
  () => new File([latin('PK'), new Uint8Array(2e7).fill(0x50)], 'own.npz'),
];

// ---------------------------------------------------------------- counting

/** Run `read` on each case. An error counts unless it has a phrase (`word`). */
async function count(total, make, read) {
  const counts = { cases: total, read: 0, slowest: 0, errors: [] };
  for (let number = 0; number < total; number++) {
    const input = await make(number);
    const start = process.cpuUsage();
    try {
      if (await read(input)) counts.read++;
    } catch (error) {
      if (!error.word) counts.errors.push(`${error}`.slice(0, 200));
    }
    const { user, system } = process.cpuUsage(start);
    const seconds = (user + system) / 1e6;
    if (seconds > counts.slowest) Object.assign(counts, { slowest: seconds, slowest_case: number });
  }
  counts.errors = counts.errors.slice(0, 20);
  return counts;
}

const results = {
  permalinks: await count(Math.ceil(cases / 3), link, (hash) => Boolean(parsePermalink(hash))),
  decks: await count(Math.ceil(cases / 3), (number) => (number ? deckText() : bomb()), async (text) => fromFile(text) ?? (await decodeViews(text))),
  'files of “Open your own”': await count(Math.ceil(cases / 3) + HOSTILE_FILES.length, (number) => HOSTILE_FILES[number]?.() ?? file(), parseFile),
};
console.log(JSON.stringify(results));
