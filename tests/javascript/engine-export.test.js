// Exports of the engine in the browser, against those of Python for the same sentences.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { LIMITS, python, readModel } from './engine-setup.js';

const { ANSWERS } = await import('../../viz/widgets/engine/calls.js');
const { Engine } = await import('../../viz/widgets/engine/engine.js');
const { encodeNpz } = await import('../../viz/widgets/engine/npz-file.js');
const { wrap, plotlyText, verticalText } = await import('../../viz/widgets/engine/figure-text.js');
const { standalonePage } = await import('../../viz/widgets/engine/standalone.js');
const { parseNpy, unzip } = await import('../../viz/widgets/recording/npz.js');

const MAX_DIFFERENCE = 2e-4; // of a weight; colours show its root in the overview, and effects are measured in nats
const TEXT = { 'de-en': 'Der Hund, den ich gestern gesehen habe, schläft unter dem Tisch.', 'zh-en': '我昨天看見的狗在桌子下面睡覺。' };
const LONG = `${'Der Hund sieht die Katze und die Katze sieht den Hund, '.repeat(4)}oder nicht.`;
const DEFAULTS = {
  ...{ kind: 'cross', view: 'matrix', lead: false, words: false, scale: 'linear', special: true, palette: 'headlight', rescale: false },
  ...{ threshold: 0.05, layer: 1, head: 3, word: null, rival: null, pinned: null },
};
const EXPECTED = `
import base64, json, sys
from headlight.viz.export.files import Exporter
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
exporter = Exporter(Service(Settings()))
def plain(value):
    if isinstance(value, dict) and "bdata" in value:
        import numpy as np
        array = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"]).reshape([int(size) for size in value.get("shape", "-1").split(",")])
        return [[None if cell != cell else float(cell) for cell in row] for row in array]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value
print(json.dumps([plain(exporter.export(values)) for values in json.loads(sys.argv[1])]))`;

const loaded = Object.fromEntries(['de-en', 'zh-en'].map((name) => [name, readModel(name)]));
const site = Object.values(loaded).map(({ name, config, languages }) => {
  const empty = { cross_heads: { aligning: [], losses: [] }, rule: null, reverse: '' };
  return [name, { name, config, languages, answer_model: { name, defaults: {} }, ...empty }];
});
const engine = new Engine(
  { models: Object.fromEntries(site), limits: LIMITS },
  /** @type {any} */ ({ load: async (name) => loaded[name] }),
);

function call(form, selection = {}, { model = 'de-en', text = TEXT[model], interventions = [], theme = 'light', language = 'en' } = {}) {
  const request = { text, model, beam_size: 1, no_repeat: 4, back_weight: 0, interventions };
  return { form, request, selection: { ...DEFAULTS, ...selection }, theme, language };
}

/** Exports of the engine and of Python. */
async function both(calls) {
  const expected = python(EXPECTED, calls);
  const own = [];
  for (const values of calls) own.push(JSON.parse(JSON.stringify(await ANSWERS.export(engine, values, {}))));
  return own.map((file, index) => ({ own: file, expected: expected[index], values: calls[index] }));
}

/** Compares two values, numbers with a tolerance. */
function compare(own, expected, path, tolerance = MAX_DIFFERENCE) {
  if (typeof own === 'number' && typeof expected === 'number') {
    assert.ok(Math.abs(own - expected) <= tolerance, `${path}: ${own}, ${expected}`);
  } else if (own && expected && typeof own === 'object') {
    assert.deepEqual(Object.keys(own).sort(), Object.keys(expected).sort(), path);
    for (const name of Object.keys(expected)) compare(own[name], expected[name], `${path}.${name}`, tolerance);
  } else assert.deepEqual(own, expected, path);
}

const HIDDEN = [{ action: 'mask', start: 4, end: 8 }];
const SELECTIONS = [
  {},
  { kind: 'decoder', scale: 'log' },
  { kind: 'encoder', layer: 4, head: 'mean', scale: 'row', palette: 'cividis' },
  { layer: 'mean', head: 'mean', words: true, special: false, rescale: true },
  { layer: 'mean', head: 2, words: true, palette: 'grey' },
  { layer: 'mean', head: 'max', special: false },
  { kind: 'decoder', layer: 2, head: 'max', words: true, view: 'effect' },
  { pinned: [0, 1] },
  { kind: 'decoder', words: true, special: false, pinned: ['mean', 'mean'], layer: 2, head: 0 },
  { pinned: [1, 3] },
  { view: 'lines' },
  { view: 'lines', kind: 'decoder', threshold: 0.2, words: true, special: false },
  { view: 'lines', pinned: [2, 2], kind: 'encoder', threshold: 0.1 },
  { view: 'effect' },
  { view: 'effect', kind: 'decoder', layer: 'mean', head: 'mean', lead: true, words: true },
  { view: 'effect', kind: 'encoder' },
  { view: 'effect', kind: 'encoder', word: 2 },
  { view: 'effect', kind: 'encoder', word: 2, lead: true, special: false },
  { view: 'effect', kind: 'encoder', word: 2, lead: true, rival: [2, 77] },
  { view: 'effect', kind: 'encoder', word: 2, lead: true, rival: [1, 77] },
  { view: 'effect', pinned: [0, 0] },
];

test('pictures are those of Python', async () => {
  const invisible = ({ marker }) => marker?.opacity === 0; // hover points
  const calls = [
    ...SELECTIONS.map((selection) => call('svg', selection)),
    ...SELECTIONS.slice(0, 6).map((selection) => call('png', selection, { model: 'zh-en', theme: 'dark', language: 'zh' })),
    ...['encoder', 'decoder', 'cross'].map((kind) => call('wall_svg', { kind, words: true, special: false, view: 'effect' })),
    call('wall_png', { palette: 'grey' }, { model: 'zh-en', theme: 'dark', language: 'zh' }),
    ...['wall_svg', 'svg'].map((form) => call(form, { kind: 'decoder' }, { text: LONG })),
    ...[{}, { view: 'lines' }, { pinned: [0, 1] }].map((selection) => call('svg', selection, { text: LONG })),
    ...['wall_svg', 'svg'].map((form) => call(form, { kind: 'encoder', view: 'lines' }, { interventions: HIDDEN })),
    call('svg', {}, { text: 'Sie sagt <b>„שלום“</b> für 5 % von 3 $ & مرحبا.' }),
    call('svg', {}, { text: LONG.repeat(3).slice(0, 500) }),
  ];
  const names = new Set();
  for (const { own, expected, values } of await both(calls)) {
    const what = JSON.stringify([values.form, values.selection, values.request.text.slice(0, 20)]);
    assert.equal(own.name, expected.name, what);
    expected.figure.data = expected.figure.data.filter((trace) => !invisible(trace));
    const tolerance =
      values.selection.view === 'effect' || values.selection.scale === 'log' || values.form.startsWith('wall') ? 0.02 : MAX_DIFFERENCE;
    compare(own.figure, expected.figure, what, tolerance);
    names.add(own.name);
  }
  assert.ok(names.size > 15);
});

const drawLines = (file) => Buffer.from(file.content, 'base64').toString('utf8').split('\n');

test('tables are those of Python, and cells that a spreadsheet would run are escaped', async () => {
  const odd = 'Das Zeichen = und "ja", + - @ sind da.';
  const calls = [
    ...SELECTIONS.map((selection) => call('csv', selection)),
    call('csv', {}, { text: odd }),
    call('csv', { pinned: [0, 1] }, { text: odd }),
  ];
  for (const { own, expected, values } of await both(calls)) {
    const what = JSON.stringify(values.selection);
    assert.equal(own.name, expected.name);
    const [ownLines, expectedLines] = [own, expected].map(drawLines);
    assert.equal(ownLines.length, expectedLines.length, what);
    const number = /(?<=,)-?\d+\.\d{6}(?=,|$)/g;
    for (const [index, line] of expectedLines.entries()) {
      assert.equal(ownLines[index].replace(number, '#'), line.replace(number, '#'), what);
      const [numbers, others] = [ownLines[index], line].map((text) => (text.match(number) ?? []).map(Number));
      compare(numbers, others, what, values.selection.view === 'effect' ? 2e-3 : MAX_DIFFERENCE);
    }
  }
});

test('all maps are those of Python as JSON', async () => {
  for (const { own, expected } of await both([call('json'), call('json', {}, { model: 'zh-en' })])) {
    assert.equal(own.name, expected.name);
    const [content, other] = [own, expected].map((file) => JSON.parse(Buffer.from(file.content, 'base64').toString('utf8')));
    compare(content, other, 'json');
  }
});

test('NumPy reads the archive, and its arrays are those of Python', async () => {
  const [{ own, expected }] = await both([call('npz')]);
  assert.equal(own.name, expected.name);
  const folder = mkdtempSync(join(tmpdir(), 'npz-'));
  const files = [own, expected].map(({ content }, index) => {
    const path = join(folder, `${index}.npz`);
    writeFileSync(path, Buffer.from(content, 'base64'));
    return path;
  });
  execFileSync(process.env.PYTHON ?? 'python3', [
    '-c',
    [
      'import sys, zipfile, numpy as np',
      'own, expected = map(np.load, sys.argv[1:])',
      'assert zipfile.ZipFile(sys.argv[1]).testzip() is None',
      'assert list(own) == list(expected)',
      'for name in expected:',
      '    assert own[name].dtype == expected[name].dtype and own[name].shape == expected[name].shape, name',
      '    if own[name].dtype.kind == "U": np.testing.assert_array_equal(own[name], expected[name])',
      '    else: np.testing.assert_allclose(own[name], expected[name], atol=2e-4)',
    ].join('\n'),
    ...files,
  ]);
  rmSync(folder, { recursive: true });
});

test('an archive is read again as it was written', async () => {
  const arrays = {
    empty: { shape: [1], texts: [''] },
    texts: { shape: [2], texts: ['a🚀', '中'] },
    numbers: { shape: [2, 1], numbers: Float32Array.of(1, -2) },
  };
  const files = await unzip(await encodeNpz(arrays), () => true);
  for (const [name, array] of Object.entries(arrays)) assert.deepEqual(parseNpy(files.get(`${name}.npy`)), array);
});

test('lines and labels are those of Python', () => {
  const texts = [
    TEXT['zh-en'],
    LONG,
    'a',
    '',
    'שלום עולם',
    '<b>&%$',
    '这是 (一个) 很长的句子，没有空格。“好”',
    '🚀👍🏿🇩🇪 emoji',
    'x'.repeat(60),
  ];
  const expected = python(
    [
      'import json, sys',
      'from headlight.viz.token_labels import plotly_text, vertical_text, wrap',
      'print(json.dumps([[[wrap(text, columns) for columns in (5, 24, 60)], plotly_text(text), vertical_text(text)] for text in json.loads(sys.argv[1])]))',
    ].join('\n'),
    texts,
  );
  for (const [index, text] of texts.entries()) {
    assert.deepEqual([[5, 24, 60].map((columns) => wrap(text, columns)), plotlyText(text), verticalText(text)], expected[index], text);
  }
});

test('the page as a file is that of Python', async () => {
  const answer = { model: { name: 'de-en' }, text: '</script><!-- {{data}} $& „Hund“' };
  const selection = { kind: 'cross', layer: 1 };
  for (const language of ['en', 'zh']) {
    const [template, version, page] = python(
      [
        'import dataclasses, json, sys',
        'from headlight import __version__',
        'from headlight.viz.export import standalone',
        'answer, selection, language = map(json.loads, sys.argv[1:])',
        'standalone.dataclasses = type("Plain", (), {"asdict": dict})',
        'page = standalone.standalone_page(json.dumps(answer), selection, language).decode()',
        'print(json.dumps([standalone.standalone_template().decode(), __version__, page]))',
      ].join('\n'),
      answer,
      selection,
      language,
    );
    const file = { url: 'page.html.deflate', bytes: 1, sha256: '' };
    const site = { standalone: { version, file }, loader: { fetchFile: async () => new TextEncoder().encode(template) } };
    assert.equal(await standalonePage(site, answer, { selection, language }), page);
  }
});
