// Tensors of the lessons from the engine in the browser against those of the server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS, python, readModel } from './engine-setup.js';

const { ANSWERS } = await import('../../viz/widgets/engine/calls.js');
const { Engine } = await import('../../viz/widgets/engine/engine.js');
const { Fault } = await import('../../viz/widgets/engine/fault.js');
const { decodeArray } = await import('../../viz/widgets/core/base64-arrays.js');

const SERVER = `
import json, sys
from headlight.model.core.probes import all_probes
from headlight.viz.lessons.tensors import model_values, make_tensors_call
from headlight.viz.service.service import Service
from headlight.viz.settings import read_settings
service = Service(read_settings())
ask = make_tensors_call(service)
names = list(all_probes(service.model_info("de-en").model))
answers = [ask(values) for values in json.loads(sys.argv[1])]
print(json.dumps({"names": names, "answers": answers}))`;

const OPTIONS = { beam_size: 1, length_penalty: 1, no_repeat: 4, back_weight: 0, temperature: 0, seed: 0, target: null, prefix: null };
const REQUEST = { ...OPTIONS, text: 'Die Katze trinkt heute keine Milch.', model: 'de-en' };
const LOGITS = 'decoder.output.logits';
const ATTENTION = ['queries', 'keys', 'values', 'allowed', 'scores', 'weights', 'mixed', 'attended'];
const prefixed = (path, names) => names.map((name) => `${path}.${name}`);

/** Every tensor of a layer of one side. */
const layerNames = (side, layer) => {
  const path = `${side}.layers.${layer}`;
  const parts = ['self_attention', ...(side === 'decoder' ? ['cross_attention'] : [])];
  return [
    ...parts.flatMap((part) => prefixed(`${path}.${part}`, ATTENTION)),
    ...[...parts, 'feed_forward'].flatMap((part) => prefixed(`${path}.around_${part}`, ['carried', 'stream', 'normed'])),
    ...prefixed(`${path}.feed_forward`, ['hidden', 'output']),
  ];
};
const EMBEDDINGS = ['encoder', 'decoder'].flatMap((side) => prefixed(`${side}.embedding`, ['embedded', 'positioned', 'stream']));
const PARAMETERS = [
  'encoder.layers.1.self_attention.query.weight',
  'encoder.layers.1.self_attention.query.weight[7]',
  'encoder.layers.1.self_attention.query.bias',
  'encoder.layers.1.self_attention.query.bias[7]',
  'encoder.layers.0.around_self_attention.norm.weight',
  'decoder.layers.2.around_cross_attention.norm.bias',
  'decoder.layers.0.feed_forward.wide.weight[11]',
  'decoder.layers.0.feed_forward.narrow.bias[5]',
  'decoder.output.words.weight[42]',
  'encoder.embedding.table.weight[9]',
];
const CHANGES = [
  { kind: 'encoder', layer: 0, head: 2, action: 'remove' },
  { kind: 'cross', layer: 1, head: null, action: 'temperature', amount: 2 },
  { side: 'decoder', layer: 1, part: 'residual', action: 'zero' },
  { side: 'decoder', layer: 0, part: 'feed_forward', action: 'zero' },
  { kind: 'decoder', layer: 1, text: 'Der Hund schläft.', action: 'borrow' },
];
const HIDDEN = { ...REQUEST, interventions: [{ action: 'mask', start: 4, end: 9 }] };
const CALLS = [
  { request: REQUEST, names: [...EMBEDDINGS, ...layerNames('encoder', 0), 'encoder.memory'] },
  { request: REQUEST, names: [...layerNames('encoder', 7), 'decoder.final', LOGITS] },
  { request: REQUEST, names: layerNames('decoder', 2) },
  { request: REQUEST, names: PARAMETERS },
  { request: { ...REQUEST, interventions: CHANGES }, names: [...layerNames('decoder', 1), ...layerNames('encoder', 0).slice(0, 8)] },
  { request: { ...REQUEST, interventions: CHANGES }, names: [...layerNames('decoder', 0), LOGITS] },
  { request: HIDDEN, names: [...layerNames('encoder', 3), ...prefixed('decoder.layers.0.cross_attention', ATTENTION)] },
];

const model = readModel('de-en');
const entry = {
  name: 'de-en',
  config: model.config,
  answer_model: { defaults: {} },
  lesson_model: { d_model: 256 },
  languages: model.languages,
};
const engine = new Engine(
  { models: { 'de-en': /** @type {any} */ (entry) }, limits: LIMITS },
  /** @type {any} */ ({ load: async () => model }),
);
const ask = (values) => ANSWERS.lesson_tensors(engine, values, {});

/** Largest difference of two lists of numbers, relative to the largest number. */
function difference(own, expected) {
  assert.equal(own.length, expected.length);
  const largest = expected.reduce((most, number) => Math.max(most, Math.abs(number)), 1);
  return own.reduce((most, number, index) => Math.max(most, Math.abs(number - expected[index])), 0) / largest;
}

test('every tensor that the lessons ask for is that of the server', async () => {
  const { names, answers } = python(SERVER, CALLS);
  const compared = new Set();
  for (const [index, call] of CALLS.entries()) {
    const own = await ask(call);
    assert.deepEqual(Object.keys(own.tensors).sort(), Object.keys(answers[index].tensors).sort());
    for (const [name, encoded] of Object.entries(own.tensors)) {
      const [tensor, expected] = [decodeArray(encoded), decodeArray(answers[index].tensors[name])];
      assert.deepEqual(tensor.shape, expected.shape, name);
      const most = difference(tensor.numbers, expected.numbers);
      assert.ok(most < 2e-4, `call ${index}, ${name}: ${most}`);
      compared.add(name.replace(/\d+/, 'N'));
    }
    assert.equal(own.logits?.length, answers[index].logits?.length);
    for (const [row, summary] of (own.logits ?? []).entries()) compareLogits(summary, answers[index].logits[row]);
  }
  const left = names.map((name) => name.replace(/\d+/, 'N')).filter((name) => !compared.has(name));
  const places = ['encoder', 'decoder'].map((side) => `${side}.embedding.positions.places`); // no lesson shows them
  assert.deepEqual([...new Set(left)], [...places, LOGITS]); // logits are sent as a summary
});

function compareLogits(own, expected) {
  for (const name of ['log_sum', 'mean', 'spread', 'low', 'high']) assert.ok(Math.abs(own[name] - expected[name]) < 2e-3, name);
  assert.deepEqual(own.best[0].slice(0, 2), expected.best[0].slice(0, 2));
  const logits = new Map(expected.best.map(([label, id, logit]) => [id, [label, logit]]));
  for (const [label, id, logit] of own.best) {
    if (!logits.has(id))
      assert.ok(logit - expected.best.at(-1)[2] < 2e-3); // the last two may be equal
    else assert.ok(label === logits.get(id)[0] && Math.abs(logit - logits.get(id)[1]) < 2e-3, label);
  }
  const total = (counts) => counts.reduce((sum, count) => sum + count, 0);
  assert.equal(total(own.counts), total(expected.counts));
  const moved = own.counts.map((count, bin) => Math.abs(count - expected.counts[bin]));
  assert.ok(total(moved) <= 0.01 * total(own.counts), `${total(moved)} counts are in other bins`);
}

test('the answer has the values of the model, and equal names once', async () => {
  const answer = await ask({ request: REQUEST, names: ['encoder.memory', 'encoder.memory'] });
  assert.equal(answer.model, entry.lesson_model);
  assert.deepEqual(Object.keys(answer.tensors), ['encoder.memory']);
  assert.equal(answer.logits, undefined);
});

test('names that the model lacks are named', async () => {
  const wrong = {
    unknown_name: [
      'encoder.layers.9.self_attention.queries',
      'decoder.nothing',
      'encoder.layers.0.self_attention.query.weight[4096]',
      'encoder.layers.0.around_nothing.normed',
      'toString',
    ],
    not_names: [[], 'encoder.memory', null, [3], Array(41).fill('encoder.memory')],
  };
  for (const [word, cases] of Object.entries(wrong)) {
    for (const names of cases) {
      const request = { request: REQUEST, names: word === 'not_names' ? names : [names] };
      await assert.rejects(ask(request), (error) => error instanceof Fault && error.word === word, JSON.stringify(names));
    }
  }
  await assert.rejects(ask({ request: REQUEST, names: ['decoder.output.words.weight', 'encoder.embedding.table.weight'] }), {
    word: 'too_long_to_show',
  });
});
