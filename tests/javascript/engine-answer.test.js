// Answers of the engine in the browser: labels, roles, measures, the initial selection and the letters of weights.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS, python, readModel, requestFor } from './engine-setup.js';

const { translate } = await import('../../viz/widgets/engine/translator.js');
const { makeAnswer } = await import('../../viz/widgets/engine/answer.js');
const { encodeWeights } = await import('../../viz/widgets/engine/weight-encoding.js');
const { decodeWeights, MAX_LEVEL } = await import('../../viz/widgets/core/weight-decoding.js');

const EXPECTED = `
import json, sys
from headlight import Translator
from headlight.model.checkpoints.shipped import MODELS
from headlight.viz.service.catalogue import Catalogue
from headlight.viz.service.payload import answer_dict
from headlight.viz.settings import Settings
name, requests = json.loads(sys.argv[1]), json.loads(sys.argv[2])
translator = Translator.load(name, device="cpu", step_weights="plain")
card = Catalogue(Settings()).card(name, "transformer")
source, target = (*card.languages, "", "")[:2]
heads = {"aligning": [list(head) for head in card.cross_heads.aligning], "losses": [[*head, loss] for head, loss in card.cross_heads.losses.items()]}
answers = [answer_dict(translator.translate(request.pop("text"), **request), {"source": source, "target": target}, card.cross_heads) for request in requests]
print(json.dumps({"answers": answers, "heads": heads, "languages": {"source": source, "target": target}}))`;

const close = (one, other, most, what) => assert.ok(Math.abs(one - other) <= most, `${what}: ${one}, ${other}`);

/** The numbers of measures: the scale times the weight of each letter. */
function measured([unit, scale, letters]) {
  const weights = decodeWeights(letters);
  return [unit, scale, Array.from(letters, (letter, index) => (letter === ' ' ? null : (scale * weights[index]) / MAX_LEVEL))];
}

function compareMeasures(own, expected, what) {
  assert.deepEqual(Object.keys(own), Object.keys(expected), what);
  for (const name of Object.keys(expected)) {
    const [[unit, scale, numbers], [otherUnit, otherScale, others]] = [measured(own[name]), measured(expected[name])];
    assert.deepEqual([unit, scale], [otherUnit, otherScale], `${what} ${name}`);
    numbers.forEach((number, index) => {
      assert.equal(number === null, others[index] === null, `${what} ${name} ${index}`);
      close(number ?? 0, others[index] ?? 0, scale * 2e-4, `${what} ${name} ${index}`);
    });
  }
}

function compareAnswers(own, expected) {
  const what = expected.source_text;
  for (const name of ['what', 'version', 'source_text', 'text', 'start', 'opening', 'late', 'hidden', 'adaptations', 'stopped']) {
    assert.deepEqual(own[name], expected[name], `${what}: ${name}`);
  }
  const plain = ({ probability, alternatives, ...token }) => token;
  assert.deepEqual(own.source, expected.source);
  assert.deepEqual(own.target.map(plain), expected.target.map(plain));
  for (const kind of ['encoder', 'decoder', 'cross']) {
    assert.deepEqual(own.attention[kind].shape, expected.attention[kind].shape);
    const [weights, others] = [own, expected].map((answer) => decodeWeights(answer.attention[kind].letters));
    assert.equal(weights.length, others.length);
    weights.forEach((weight, index) => close(weight / MAX_LEVEL, others[index] / MAX_LEVEL, 2e-4, kind));
    const values = (roles) => roles.flat().map(([name]) => name);
    assert.deepEqual(values(own.roles[kind]), values(expected.roles[kind]), `${what}: roles of ${kind}`);
    own.roles[kind].flat().forEach(([, share, spread], index) => {
      const [, otherShare, otherSpread] = expected.roles[kind].flat()[index];
      close(share, otherShare, 2e-4, `${what}: share of ${kind} ${index}`);
      close(spread, otherSpread, 0.02, `${what}: spread of ${kind} ${index}`);
    });
    compareMeasures(own.measures[kind], expected.measures[kind], `${what}: ${kind}`);
  }
}

const REQUESTS = {
  'de-en': [
    { text: 'Der Hund, den ich gestern gesehen habe, schläft unter dem Tisch.' },
    { text: 'Ja!' },
    { text: 'DIE KINDER SPIELEN IM GARTEN.', beam_size: 4, n_best: 2 },
    { text: 'Die Frau liest ein Buch.', interventions: [{ action: 'mask', start: 9, end: 14 }] },
    { text: 'Das Kraftfahrzeughaftpflichtversicherungsgesetz, 3,14 🚀 €!' },
  ],
  'zh-en': [{ text: '我昨天看見的狗在桌子下面睡覺。' }, { text: '他说：“你好。”' }],
  toy: [
    { text: 'ich mag dich', max_length: 1 },
    { text: 'der hund bellt', max_length: 9 },
  ],
};

for (const [name, requests] of Object.entries(REQUESTS)) {
  test(`${name}: answers have the roles, measures and initial selection of Python's`, async () => {
    const { answers, heads, languages } = python(EXPECTED, name, requests);
    const model = readModel(name);
    const entry = { name, answer_model: {}, cross_heads: heads, languages };
    for (const [index, { text, interventions = [], ...options }] of requests.entries()) {
      const translation = await translate(model, requestFor(text, { interventions, options }), LIMITS);
      compareAnswers(JSON.parse(JSON.stringify(makeAnswer(translation, entry, (id) => model.targetTokenizer.label(id)))), answers[index]);
    }
  });
}

test('letters of weights are those of Python', () => {
  const { weights, plain, causal } = python(`
import json
import numpy as np
from headlight.viz.service.weight_encoding import encode_weights
weights = (np.random.default_rng(3).random((3, 2, 50, 50)) ** 4).astype("f4")
weights.ravel()[:6] = [0, 1, 0.5, 0.25, 1e-9, 0.99999]
print(json.dumps({"weights": weights.tolist(), "plain": encode_weights(weights), "causal": encode_weights(weights, causal=True)}))`);
  const layers = weights.map((layer) => Float32Array.from(layer.flat(2)));
  assert.equal(encodeWeights(layers, { columns: 50, causal: false }), plain);
  assert.equal(encodeWeights(layers, { columns: 50, causal: true }), causal);
});
