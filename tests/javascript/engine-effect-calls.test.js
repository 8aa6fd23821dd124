// The calls about effects and accounts that the engine in the browser answers, against the functions of the server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS, python, readModel } from './engine-setup.js';

const { ANSWERS } = await import('../../viz/widgets/engine/calls.js');
const { Engine } = await import('../../viz/widgets/engine/engine.js');
const { Fault } = await import('../../viz/widgets/engine/fault.js');
const { decodeArray } = await import('../../viz/widgets/core/base64-arrays.js');

const SERVER = `
import json, sys
from headlight.viz.page import build_page
from headlight.viz.settings import read_settings
from headlight.viz.tabs import TABS
page = build_page(read_settings(), {name: TABS[name] for name in ("heads", "whatif", "word")})
print(json.dumps([page.calls.calls[name].function(values) for name, values in json.loads(sys.argv[1])]))`;

const OPTIONS = { beam_size: 1, length_penalty: 1, no_repeat: 4, back_weight: 0, temperature: 0, seed: 0, target: null, prefix: null };
const REQUEST = { ...OPTIONS, text: 'Die Katze trinkt heute keine Milch.', model: 'de-en' };
const BORROW = [
  { kind: 'cross', layer: 1, head: 0, text: 'Der Hund schläft.', action: 'borrow' },
  { kind: 'encoder', layer: 2, text: 'Der Hund schläft.', action: 'borrow' },
  { kind: 'decoder', layer: 0, head: 1, text: 'Der Hund schläft.', action: 'borrow' },
];
const HIDDEN = [{ action: 'mask', start: 4, end: 9 }];
const TOY = { ...OPTIONS, text: 'ich mag dich', model: 'toy' };

const WORD = { request: REQUEST, place: 3 };
const EFFECT_CALLS = [
  ['strongest_effects', { ...WORD, rival: null }],
  ['strongest_effects', { ...WORD, rival: 42 }],
  ['strongest_effects', { request: { ...REQUEST, interventions: BORROW }, place: 2 }],
  ['measured_effect', { ...WORD, kind: 'encoder', layer: 3, head: 2, rival: null }],
  ['measured_effect', { ...WORD, kind: 'cross', layer: 1, head: 5, rival: 42 }],
  ...['encoder', 'decoder', 'cross'].flatMap((kind) => [true, false].map((lead) => ['map_effects', { request: REQUEST, kind, lead }])),
  ['map_effects', { request: { ...REQUEST, interventions: [...BORROW, ...HIDDEN] }, kind: 'cross', lead: false }],
  ...['encoder', 'decoder', 'cross'].map((kind) => ['map_effects', { ...WORD, kind, lead: kind === 'cross', rival: null }]),
  ['map_effects', { ...WORD, kind: 'encoder', rival: 42 }],
  ['name_rival', { ...WORD, rival: ' does' }],
  ['name_rival', { ...WORD, rival: 'not' }],
  ['predict_losses', { request: REQUEST }],
  ['strongest_effects', { request: TOY, place: 1, rival: null }],
  ['map_effects', { request: TOY, kind: 'encoder', lead: true }],
];
const ACCOUNT_WORD = { request: REQUEST, place: 4 };
const ACCOUNT_CALLS = [
  ['account_word', { ...ACCOUNT_WORD, rival: null }],
  ['account_word', { ...ACCOUNT_WORD, rival: 42 }],
  ['account_word', { request: { ...REQUEST, interventions: HIDDEN }, place: 0 }],
  ['account_heads', { ...ACCOUNT_WORD, rival: null }],
  ['account_keys', { ...ACCOUNT_WORD, rival: null, layer: 2, head: 6 }],
  ['account_word', { request: TOY, place: 1 }],
  ['account_heads', { request: TOY, place: 1 }],
];
const CUT = [
  { side: 'decoder', layer: 1, part: 'residual', action: 'zero' },
  { side: 'decoder', layer: 0, part: 'feed_forward', action: 'zero' },
];
const LOGIT_CALLS = [
  ['logit_details', { request: REQUEST, token: 3 }],
  ['logit_details', { request: { ...REQUEST, interventions: CUT }, token: 2 }],
  ['logit_details', { request: TOY, token: 1 }],
];
const ALL_CALLS = [...EFFECT_CALLS, ...ACCOUNT_CALLS, ...LOGIT_CALLS];
const EXPECTED = python(SERVER, ALL_CALLS);

const models = Object.fromEntries(['de-en', 'toy'].map((name) => [name, readModel(name)]));
const entryFor = ({ name, config, languages }) => ({ name, config, languages, answer_model: { defaults: {} }, lesson_model: {} });
const entries = Object.fromEntries(Object.entries(models).map(([name, model]) => [name, entryFor(model)]));
const engine = new Engine(
  { models: /** @type {any} */ (entries), limits: LIMITS },
  /** @type {any} */ ({ load: async (name) => models[name] }),
);

const close = (own, expected, most, what) => {
  const [numbers, others] = [own, expected].map((list) => [list].flat(Infinity));
  assert.equal(numbers.length, others.length, what);
  numbers.forEach((number, index) => assert.ok(Math.abs(number - others[index]) <= most, `${what} ${index}: ${number}, ${others[index]}`));
};

async function compare(calls) {
  const expected = EXPECTED.slice(ALL_CALLS.indexOf(calls[0]));
  for (const [index, [name, values]] of calls.entries()) {
    const own = JSON.parse(JSON.stringify(await ANSWERS[name](engine, values, {})));
    assert.deepEqual(Object.keys(own).sort(), Object.keys(expected[index]).sort(), name);
    COMPARE[name](own, expected[index], `${name} ${index}`);
  }
}

const COMPARE = {
  strongest_effects(own, expected, what) {
    for (const kind of ['encoder', 'decoder', 'cross']) close(own.heads[kind], expected.heads[kind], 2e-4, `${what}, ${kind}`);
    const names = ({ kind, layer, head, row, column }) => [kind, layer, head, row, column];
    assert.deepEqual(own.strongest.map(names), expected.strongest.map(names), what);
    for (const name of ['predicted', 'measured', 'cell'])
      close(
        own.strongest.map((head) => head[name]),
        expected.strongest.map((head) => head[name]),
        1e-4,
        `${what}, ${name}`,
      );
  },
  measured_effect: (own, expected, what) => close(own.measured, expected.measured, 1e-4, what),
  map_effects(own, expected, what) {
    const [array, other] = [decodeArray(own.effects), decodeArray(expected.effects)];
    assert.deepEqual(array.shape, other.shape, what);
    close([...array.numbers], [...other.numbers], 1e-4, what);
    assert.ok(array.numbers.some((number) => Math.abs(number) > 1e-3));
    assert.deepEqual(own.rival, expected.rival, what);
  },
  name_rival: (own, expected, what) => assert.deepEqual(own, expected, what),
  predict_losses(own, expected, what) {
    for (const kind of ['encoder', 'decoder', 'cross']) close(own.losses[kind], expected.losses[kind], 2e-4, `${what}, ${kind}`);
  },
  account_word(own, expected, what) {
    assert.deepEqual([own.word, own.rival], [expected.word, expected.rival], what);
    const plain = ({ id, label }) => [id, label];
    assert.deepEqual(own.rivals.map(plain), expected.rivals.map(plain), what);
    for (const name of ['probability', 'lead', 'source', 'prefix', 'constants'])
      close(own[name], expected[name], 1.2e-4, `${what}, ${name}`);
  },
  logit_details(own, expected, what) {
    assert.deepEqual(own.words, expected.words, what);
    close(own.logits, expected.logits, 1e-3, what);
    const names = ({ part, kind, layer, head }) => [part, kind, layer, head];
    assert.deepEqual(own.terms.map(names), expected.terms.map(names), what);
    for (const [index, { effects }] of own.terms.entries()) close(effects, expected.terms[index].effects, 1e-3, `${what}, term ${index}`);
    close(
      own.words.map((_, word) => own.terms.reduce((sum, { effects }) => sum + effects[word], 0)),
      own.logits,
      1e-3,
      `${what}: terms add up`,
    );
    for (const [layer, cells] of own.layers.entries()) {
      for (const [row, { says, chance, own: probability, rank }] of cells.entries()) {
        const other = expected.layers[layer][row];
        assert.deepEqual([says, rank], [other.says, other.rank], `${what}, layer ${layer}, row ${row}`);
        close([chance, probability], [other.chance, other.own], 2e-4, `${what}, layer ${layer}, row ${row}`);
      }
    }
  },
  account_heads: (own, expected, what) => close(own.heads, expected.heads, 1e-4, what),
  account_keys: (own, expected, what) => close(own.keys, expected.keys, 1e-4, what),
};

test('effects of heads on words are those of the server', () => compare(EFFECT_CALLS));

test('accounts of words are those of the server', () => compare(ACCOUNT_CALLS));

test('predictions of layers and parts of logits are those of the server', () => compare(LOGIT_CALLS));

test('wrong words, rivals and heads are named', async () => {
  const wrong = [
    ['strongest_effects', { request: REQUEST, place: 99 }, 'place', 'not_whole'],
    ['strongest_effects', { request: REQUEST, place: 1, rival: 1e6 }, 'rival', 'not_whole'],
    ['measured_effect', { request: REQUEST, place: 1, kind: 'cross', layer: 3, head: 0 }, 'layer', 'not_whole'],
    ['measured_effect', { request: REQUEST, place: 1, kind: 'all', layer: 0, head: 0 }, 'kind', 'not_choice'],
    ['map_effects', { request: REQUEST, kind: 'toString' }, 'kind', 'not_choice'],
    ['map_effects', { ...WORD, place: 99, kind: 'encoder' }, 'place', 'not_whole'],
    ['name_rival', { ...WORD, rival: '  ' }, 'rival', 'empty_rival'],
    ['name_rival', { ...WORD, rival: 'attention span' }, 'rival', 'rival_in_pieces'],
    ['name_rival', { ...WORD, rival: '😀' }, 'rival', 'unknown_rival'],
    ['name_rival', { ...WORD, rival: 7 }, 'rival', 'not_text'],
    ['account_keys', { request: REQUEST, place: 1, layer: 0, head: 8 }, 'head', 'not_whole'],
    ['logit_details', { request: REQUEST, token: -1 }, 'token', 'not_whole'],
  ];
  for (const [name, values, field, word] of wrong) {
    await assert.rejects(
      ANSWERS[name](engine, values, {}),
      (error) => error instanceof Fault && error.field === field && error.word === word,
      `${name}: ${JSON.stringify(values)}`,
    );
  }
});
