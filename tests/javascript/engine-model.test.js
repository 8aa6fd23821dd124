// Translations, maps and probabilities of the engine in the browser against those of Python.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { LIMITS, python, readModel, requestFor } from './engine-setup.js';

const { translate } = await import('../../viz/widgets/engine/translator.js');
const { checkRequest } = await import('../../viz/widgets/engine/requests.js');

const EXPECTED = `
import json, sys
from headlight import Translator
name, requests = json.loads(sys.argv[1]), json.loads(sys.argv[2])
translator = Translator.load(name, device="cpu", step_weights="plain")
rows = []
for request in requests:
    options = {key: tuple(value) if isinstance(value, list) and key in ("target", "prefix") else value for key, value in request.items()}
    result = translator.translate(options.pop("text"), **options)
    rows.append({
        "text": result.text,
        "source_text": result.source_text,
        "ids": [token.id for token in result.target_tokens],
        "probabilities": [token.probability for token in result.target_tokens],
        "alternatives": [[[choice.text, choice.id, choice.probability] for choice in token.alternatives] for token in result.target_tokens],
        "maps": {kind: result.attention.of(kind).ravel().tolist() for kind in ("encoder", "decoder", "cross")},
        "hidden": list(result.attention.masked_source),
        "adaptations": list(result.adaptations),
        "log_probability": result.log_probability, "score": result.score, "stopped": result.stopped,
        "hypotheses": [[item.text, list(item.ids), item.score, item.log_probability, item.ended] for item in result.hypotheses],
        "tree": [[node.parent, node.step, node.id, node.log_probability, node.score, node.outcome] for node in result.tree.nodes],
    })
print(json.dumps(rows))`;

const SENTENCES = {
  'de-en': [
    'Der Hund, den ich gestern gesehen habe, schläft unter dem Tisch.',
    'Ich trinke ein Bier.',
    'DAS IST SEHR WICHTIG.',
    'Xylophonverkäufer 😀!',
  ],
  'zh-en': ['我昨天看見的狗在桌子下面睡覺。', '你好，世界！'],
  'en-zh': ['The weather is nice today.', 'She reads a book about the war.'],
  toy: ['ich mag dich', 'der hund'],
};

const close = (one, other, most, what) => {
  assert.equal(one.length, other.length, what);
  one.forEach((number, index) => assert.ok(Math.abs(number - other[index]) <= most, `${what} ${index}: ${number}, ${other[index]}`));
};

/** Compares a translation with Python's. */
function compare(own, expected, what) {
  assert.equal(own.text, expected.text, what);
  assert.equal(own.sourceText, expected.source_text);
  assert.deepEqual(
    own.target.map(({ id }) => id),
    expected.ids,
    what,
  );
  close(
    own.target.map(({ probability }) => probability),
    expected.probabilities,
    1e-4,
    `${what}: probabilities`,
  );
  own.target.forEach(({ alternatives }, index) => {
    const choices = new Map(expected.alternatives[index].map(([text, id, probability]) => [id, [text, probability]]));
    for (const [text, id, probability] of alternatives.slice(0, 2)) {
      assert.equal(text, choices.get(id)?.[0], what);
      close([probability], [choices.get(id)[1]], 1e-4, `${what}: alternatives`);
    }
  });
  for (const kind of ['encoder', 'decoder', 'cross'])
    close(
      own.maps[kind].flatMap((map) => [...map]),
      expected.maps[kind],
      1e-4,
      `${what}: ${kind}`,
    );
  assert.deepEqual([own.hidden, own.adaptations, own.stopped], [expected.hidden, expected.adaptations, expected.stopped]);
  close([own.logProbability, own.score], [expected.log_probability, expected.score], 1e-3, `${what}: log probability`);
  const rows = own.hypotheses.map(({ text, ids, ended }) => [text, ids, ended]);
  assert.deepEqual(
    rows,
    expected.hypotheses.map(([text, ids, , , ended]) => [text, ids, ended]),
    what,
  );
  assert.deepEqual(
    own.tree.map(({ parent, step, id, outcome }) => [parent, step, id, outcome]),
    expected.tree.map(([parent, step, id, , , outcome]) => [parent, step, id, outcome]),
  );
  close(
    own.tree.map(({ score }) => score),
    expected.tree.map((node) => node[4]),
    1e-3,
    `${what}: tree`,
  );
}

async function compareAll(model, requests) {
  const expected = python(EXPECTED, model.name, requests);
  for (const [index, { text, target = null, prefix = null, interventions = [], ...options }] of requests.entries()) {
    const request = requestFor(text, { target, prefix, interventions, options });
    compare(await translate(model, request, LIMITS), expected[index], JSON.stringify(requests[index]));
  }
}

for (const [name, sentences] of Object.entries(SENTENCES)) {
  test(`${name}: greedy search, beam search, forced words and prefixes`, async () => {
    const model = readModel(name);
    const requests = sentences.flatMap((text) => [{ text }, { text, beam_size: 4, n_best: 4, no_repeat: 4 }]);
    requests.push(
      { text: sentences[0], beam_size: 3, n_best: 2, length_penalty: 0.4, max_length: 5 },
      { text: sentences[1], no_repeat: 1, max_length: 30 },
    );
    const words = { 'de-en': 'I drink', 'zh-en': 'Hello my', 'en-zh': '今天', toy: 'i' }[name];
    requests.push(
      { text: sentences[1], target: words },
      { text: sentences[1], prefix: words },
      { text: sentences[1], prefix: words, beam_size: 4 },
    );
    requests.push({ text: sentences[0], target: [5, 300 % model.config.target_vocabulary, 7] });
    await compareAll(model, requests);
  });
}

const SAVE_INT4 = `
import json, sys
from headlight.model.checkpoints.checkpoint import save_checkpoint
from headlight.model.families.loading import load_checkpoint
loaded = load_checkpoint("assets/models/toy")
save_checkpoint(json.loads(sys.argv[1]), loaded.model, loaded.source_tokenizer, loaded.target_tokenizer, storage="int4")
print("null")`;

test('a model that is stored in int4', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'headlight-int4-'));
  const folder = join(parent, 'toy');
  python(SAVE_INT4, folder);
  const model = readModel(folder);
  const requests = SENTENCES.toy.flatMap((text) => [{ text }, { text, beam_size: 4, n_best: 4, no_repeat: 4 }]);
  await compareAll(model, [...requests, { text: SENTENCES.toy[1], target: 'i' }]);
  const matrices = (read) => read.transformer.parameters.matrices.get('encoder.layers.0.feed_forward.wide').weights;
  assert.notDeepEqual(matrices(model), matrices(readModel('toy'))); // rounded, so these are not the weights of the other folder
  rmSync(parent, { recursive: true });
});

const HEAD = { kind: 'cross', layer: 1, head: 2 };
const CHANGES = [
  [
    { ...HEAD, action: 'remove' },
    { kind: 'encoder', layer: 0, action: 'remove' },
    { kind: 'decoder', head: 1, action: 'scale', amount: 0.5 },
  ],
  ...['uniform', 'previous', 'next', 'same'].map((action) => [
    { ...HEAD, action },
    { kind: 'encoder', layer: 1, head: 0, action },
    { kind: 'decoder', layer: 1, head: null, action },
  ]),
  [
    { ...HEAD, action: 'temperature', amount: 3 },
    { ...HEAD, action: 'scale', amount: 1.5 },
  ],
  [
    { kind: 'cross', layer: 0, head: 3, row: 1, column: 2, amount: 0.9, action: 'drag' },
    { kind: 'encoder', layer: 1, head: 1, row: 0, column: 1, amount: 0.25, action: 'drag' },
    { kind: 'decoder', layer: 0, head: 0, row: 2, column: 1, amount: 1, action: 'drag' },
  ],
  [
    { kind: 'encoder', layer: 1, head: 0, from_layer: 0, from_head: 2, action: 'copy' },
    { kind: 'cross', layer: 1, head: 1, from_layer: 1, from_head: 0, action: 'copy' },
    { kind: 'decoder', layer: 1, head: 2, from_layer: 0, from_head: 1, action: 'copy' },
  ],
  [{ side: 'encoder', layer: 1, part: 'feed_forward', action: 'zero' }],
  [{ side: 'decoder', layer: 1, part: 'residual', action: 'zero' }],
  [{ side: 'encoder', action: 'no_positions' }],
  [
    { side: 'encoder', action: 'no_positions' },
    { side: 'encoder', action: 'shift', amount: 3 },
    { side: 'encoder', action: 'shuffle', amount: 7 },
  ],
  [
    { side: 'encoder', action: 'shift', amount: 3 },
    { side: 'decoder', action: 'shift', amount: -2 },
  ],
  [
    { side: 'encoder', action: 'shuffle', amount: 5 },
    { side: 'decoder', action: 'shuffle', amount: 6 },
  ],
  [{ start: 4, end: 8, action: 'mask' }],
  [{ start: 4, end: 8, action: 'erase' }],
  [{ start: 4, end: 8, text: 'Katze', action: 'swap' }],
];
const BORROW = [
  { kind: 'cross', layer: 1, head: 0, text: 'Die Katze schläft.', action: 'borrow' },
  { kind: 'encoder', layer: 0, text: 'Die Katze schläft.', action: 'borrow' },
  { kind: 'decoder', layer: 0, head: 1, text: 'Die Katze schläft.', action: 'borrow' },
];

test('interventions on heads, layers, positions and words', async () => {
  const model = readModel('de-en');
  const text = 'Der Hund sieht die alte Katze.';
  const all = [...CHANGES, BORROW];
  await compareAll(
    model,
    all.map((interventions) => ({ text, interventions })),
  );
  await compareAll(
    model,
    [CHANGES[0], CHANGES[6], CHANGES[8], BORROW].map((interventions) => ({ text, interventions, beam_size: 3, n_best: 3 })),
  );
});

test('interventions on a model with norms after the sums', async () => {
  const changes = CHANGES.filter((changes) => changes.every(({ start }) => start === undefined));
  await compareAll(
    readModel('toy'),
    changes.map((interventions) => ({ text: 'ich mag dich sehr', interventions, max_length: 12 })),
  );
});

test('a request that cannot be answered is named with its values', () => {
  const { config } = readModel('toy');
  const fault = (values) => {
    try {
      checkRequest(values, {}, config, LIMITS);
    } catch ({ field, word, values: named }) {
      return [field, word, named];
    }
    return null;
  };
  assert.equal(fault({ text: 'ich' }), null);
  assert.deepEqual(fault({ text: ' \u200d' }), ['text', 'blank_text', {}]);
  assert.deepEqual(fault({ text: 'x'.repeat(2001) }), ['text', 'too_long', { name: 'text', given: 2001, limit: 2000 }]);
  assert.deepEqual(fault({ text: 'a\ud800' }), ['text', 'half_character', { name: 'text', place: 2 }]);
  assert.deepEqual(fault({ text: 'a', beam_size: 99 })?.slice(0, 2), ['beam_size', 'not_whole']);
  assert.deepEqual(fault({ text: 'a', beam_size: 2, temperature: 1 })?.slice(0, 2), ['beam_size', 'sampling_with_beam']);
  assert.deepEqual(fault({ text: 'a', target: 'b', prefix: 'c' })?.slice(0, 2), ['prefix', 'target_and_prefix']);
  assert.deepEqual(fault({ text: 'a', interventions: [{ kind: 'cross', layer: 7, head: 0, action: 'remove' }] })?.slice(0, 2), [
    'interventions',
    'not_whole',
  ]);
  assert.deepEqual(fault({ text: 'a', interventions: [{ action: 'dance' }] })?.slice(0, 2), ['interventions', 'not_choice']);
});
