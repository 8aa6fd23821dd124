// The calls that the engine in the browser answers, against the functions of the server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS, python, readModel } from './engine-setup.js';

const { ANSWERS } = await import('../../viz/widgets/engine/calls.js');
const { Engine } = await import('../../viz/widgets/engine/engine.js');
const { Foreground } = await import('../../viz/widgets/engine/foreground.js');
const { diffWords } = await import('../../viz/widgets/engine/word-diff.js');
const { chrf } = await import('../../viz/widgets/engine/chrf.js');
const { decodeArray } = await import('../../viz/widgets/core/base64-arrays.js');

const SERVER = `
import json, sys
from dataclasses import replace
from headlight.viz.page import build_page
from headlight.viz.settings import read_settings
from headlight.viz.tabs import TABS
page = build_page(read_settings(), {name: TABS[name] for name in ("heads", "whatif", "why", "decoding")})
def ask(name, values):
    answer = page.calls.calls[name].function(values)
    while name == "find_change" and answer["found"] is None and answer["next"] <= answer["all"]:
        answer = page.calls.calls[name].function(values | {"first": answer["next"]})
    return answer
print(json.dumps([ask(name, values) for name, values in json.loads(sys.argv[1])]))`;

const OPTIONS = { beam_size: 1, length_penalty: 1, no_repeat: 4, back_weight: 0, temperature: 0, seed: 0, target: null, prefix: null };
const TEXT = 'Die Katze trinkt heute keine Milch.';
const REQUEST = { ...OPTIONS, text: TEXT, model: 'de-en' };
const CROSS_OFF = [{ kind: 'cross', layer: null, head: null, action: 'remove' }];
const HEAD_OFF = [{ kind: 'cross', layer: 2, head: 5, action: 'remove' }];
const SWAP = [{ action: 'swap', start: 4, end: 9, text: 'Dame' }];

const model = readModel('de-en');
const entry = {
  name: 'de-en',
  config: model.config,
  answer_model: { defaults: {} },
  cross_heads: { aligning: [], losses: [] },
  languages: model.languages,
};
const loader = { load: async () => model };
const newEngine = () => new Engine({ models: { 'de-en': entry }, limits: LIMITS }, loader);
const close = (one, other, most, what) => assert.ok(Math.abs(one - other) <= most, `${what}: ${one}, ${other}`);

test('changes, losses, rows and search trees are those of the server', async () => {
  const heads = (kind, count) => Array.from({ length: count }, (_, index) => ({ kind, layer: Math.floor(index / 8), head: index % 8 }));
  const order = [...heads('cross', 24).reverse(), ...heads('encoder', 64), ...heads('decoder', 24)];
  const cell = { request: REQUEST, layer: 1, head: 2, row: 3, column: 1, every: true };
  const calls = [
    ...[CROSS_OFF, HEAD_OFF, SWAP].map((interventions) => ['changed_translation', { request: REQUEST, interventions }]),
    ['measure_importance', { request: REQUEST, first: 0 }],
    ['measure_importance', { request: REQUEST, first: 20 }],
    ['measure_interactions', { request: REQUEST, first: 3, part: { kind: 'cross', layer: 0, head: 1 } }],
    ...['encoder', 'decoder', 'cross'].map((kind) => ['explain_row', { ...cell, kind }]),
    ['draw_search', { request: { ...REQUEST, beam_size: 4 } }],
    ['draw_search', { request: { ...REQUEST, beam_size: 3, max_length: 4 } }],
    ['find_change', { request: REQUEST, order, first: 1 }],
  ];
  const expected = python(SERVER, calls);
  const engine = newEngine();
  const own = [];
  for (const [name, values] of calls) {
    let answer = await ANSWERS[name](engine, values, {});
    while (name === 'find_change' && answer.found === null && answer.next <= answer.all)
      answer = await ANSWERS[name](engine, { ...values, first: answer.next }, {});
    own.push(JSON.parse(JSON.stringify(answer)));
  }
  for (const [index, [name]] of calls.entries()) COMPARE[name](own[index], expected[index]);
});

const COMPARE = {
  changed_translation(own, expected) {
    assert.equal(own.answer.text, expected.answer.text);
    assert.equal(own.held.text, expected.held.text);
    close(own.before, expected.before, 1e-3, 'before');
    close(own.after, expected.after, 1e-3, 'after');
    assert.equal(own.chrf, expected.chrf);
    const plain = ({ before, after, places }) => [before, after, places];
    assert.deepEqual(own.words.map(plain), expected.words.map(plain));
    for (const [index, word] of own.words.entries()) {
      close(word.log_before ?? 0, expected.words[index].log_before ?? 0, 1e-3, 'log_before');
      close(word.log_after ?? 0, expected.words[index].log_after ?? 0, 2e-3, 'log_after');
    }
  },
  measure_importance(own, expected) {
    assert.equal(own.all, expected.all);
    assert.ok(own.losses.length > 0 && own.next > 0);
    for (const [index, { loss, ...part }] of own.losses.slice(0, expected.losses.length).entries()) {
      const { loss: other, ...otherPart } = expected.losses[index];
      assert.deepEqual(part, otherPart);
      close(loss, other, 2e-3, JSON.stringify(part));
    }
  },
  measure_interactions: (own, expected) => COMPARE.measure_importance(own, expected),
  explain_row(own, expected) {
    assert.deepEqual([own.own, own.allowed, own.bias, own.divisor], [expected.own, expected.allowed, expected.bias, expected.divisor]);
    for (const name of ['sums', 'scores', 'powers', 'weights']) {
      own[name].forEach((number, index) => close(number, expected[name][index], 1e-3 * Math.max(1, Math.abs(number)), name));
    }
    for (const name of ['query', 'keys']) {
      const [array, other] = [decodeArray(own[name]), decodeArray(expected[name])];
      assert.deepEqual(array.shape, other.shape);
      array.numbers.forEach((number, index) => close(number, other.numbers[index], 1e-3, name));
    }
    close(own.total, expected.total, 1e-3 * own.total, 'total');
    close(own.shift, expected.shift, 1e-3, 'shift');
  },
  draw_search(own, expected) {
    const plain = ([parent, step, id, label, common, added, , , outcome, reason]) => [
      parent,
      step,
      id,
      label,
      common,
      added,
      outcome,
      reason,
    ];
    assert.deepEqual(own.nodes.map(plain), expected.nodes.map(plain));
    own.nodes.forEach((node, index) => close(node[7], expected.nodes[index][7], 2e-3, 'score'));
    assert.deepEqual(own.finished, expected.finished);
    assert.equal(own.written.text, expected.written.text);
    assert.deepEqual(
      [own.beam, own.samples, own.backs, own.written.ids],
      [expected.beam, expected.samples, expected.backs, expected.written.ids],
    );
  },
  find_change(own, expected) {
    assert.ok(own.found > 0);
    assert.deepEqual([own.found, own.all], [expected.found, expected.all]);
  },
};

test('words are paired as by Python’s difflib', () => {
  const words = ['a', 'b', 'c', 'd'];
  let seed = 7;
  const random = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  const list = () => Array.from({ length: Math.floor(random() * 9) }, () => words[Math.floor(random() * 4)]);
  const pairs = Array.from({ length: 200 }, () => [list(), list()]);
  const expected = python(
    `
import json, sys
from headlight.model.measures.chrf import chrf
from headlight.model.measures.word_diff import diff_words
print(json.dumps([[[list(pair) for pair in diff_words(first, second)], chrf(" ".join(first), " ".join(second))] for first, second in json.loads(sys.argv[1])]))`,
    pairs,
  );
  for (const [index, [first, second]] of pairs.entries()) {
    assert.deepEqual(diffWords(first, second), expected[index][0]);
    close(chrf(first.join(' '), second.join(' ')), expected[index][1], 1e-9, 'chrF');
  }
});

test('a stream sends tokens, then the answer; a stopped one sends nothing more', async () => {
  const messages = [];
  const waitForMessage = () => new Promise((resolve) => setTimeout(resolve, 70));
  const control = { isStopped: () => false, pause: waitForMessage };
  await ANSWERS.stream_messages(newEngine(), { ...REQUEST, turn: 4 }, control, (message) => messages.push(message));
  const kinds = messages.map(({ what }) => what);
  assert.ok(kinds.length > 2);
  assert.deepEqual([...new Set(kinds)], ['progress', 'answer']);
  assert.ok(messages.every(({ turn }) => turn === 4));
  assert.ok(messages.at(-1).text.startsWith(messages[0].text.slice(0, 3)));

  let steps = 0;
  const stopped = [];
  await ANSWERS.stream_messages(newEngine(), REQUEST, { isStopped: () => ++steps === 2, pause: async () => {} }, (message) =>
    stopped.push(message),
  );
  assert.equal(steps, 2); // within one step
  assert.deepEqual(
    stopped.filter(({ what }) => what === 'answer'),
    [],
  );
});

test('answers while typing are greedy unless full, and equal requests are answered from memory', async () => {
  const engine = newEngine();
  const send = async (values) => {
    const messages = [];
    await ANSWERS.stream_messages(engine, values, {}, (message) => messages.push(message));
    return messages.at(-1);
  };
  const live = await send({ ...REQUEST, beam_size: 4, live: true });
  assert.equal(live.request.options.beam_size, 1);
  assert.equal(live.cached, false);
  assert.equal((await send({ ...REQUEST, beam_size: 4, live: true, full: true })).request.options.beam_size, 4);
  assert.equal((await send({ ...REQUEST, beam_size: 4, live: true })).cached, true);
});

test('reranked searches, and changes that reranking would hide, are those of the server', async () => {
  const { SENTENCE, BROKEN, OFF } = python(
    'import json; from tests import chosen; print(json.dumps({name: getattr(chosen, name) for name in ("SENTENCE", "BROKEN", "OFF")}))',
  );
  const request = { ...REQUEST, beam_size: 4, back_weight: 0.3 };
  const calls = [
    ['draw_search', { request: { ...request, text: SENTENCE } }],
    ['changed_translation', { request: { ...request, text: BROKEN }, interventions: [OFF] }],
    ['changed_translation', { request: { ...request, text: SENTENCE }, interventions: [OFF] }],
    ['measure_importance', { request: { ...request, text: SENTENCE }, first: 5 }],
  ];
  const expected = python(SERVER, calls);
  const models = { 'de-en': model, 'en-de': readModel('en-de') };
  const entries = Object.keys(models).map((name, index, names) => {
    const { config, languages } = models[name];
    return [name, { ...entry, name, config, languages, reverse: names[1 - index] }];
  });
  const engine = new Engine({ models: Object.fromEntries(entries), limits: LIMITS }, { load: async (name) => models[name] });
  for (const [index, [name, values]] of calls.entries()) {
    const own = JSON.parse(JSON.stringify(await ANSWERS[name](engine, values, {})));
    const other = expected[index];
    if (name !== 'draw_search') COMPARE[name](own, other);
    if (name === 'changed_translation') assert.equal(own.own?.text, other.own?.text);
    if (name !== 'draw_search') continue;
    assert.ok(own.backs.filter((score) => score !== null).length > 1);
    assert.deepEqual([own.finished, own.back_weight, own.written.text], [other.finished, other.back_weight, other.written.text]);
    own.backs.forEach((score, rank) => close(score ?? 0, other.backs[rank] ?? 0, 1e-3, 'reverse score'));
  }
  assert.ok(expected[2].own);
});

test('calls in the background wait while others run, also if these fail', async () => {
  const foreground = new Foreground();
  const steps = [];
  const tick = () => new Promise((resolve) => setTimeout(resolve));
  const first = foreground.run(async () => {
    await tick();
    steps.push('first');
  });
  const second = foreground.run(async () => {
    await first;
    steps.push('second');
    throw new Error('failed');
  });
  const background = foreground.wait().then(() => steps.push('background'));
  await assert.rejects(second);
  await background;
  assert.deepEqual(steps, ['first', 'second', 'background']);
  await foreground.wait(); // nothing runs
});
