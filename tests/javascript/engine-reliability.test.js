// Reliability, reading back and reranking of the engine in the browser, against Python's, on sentences of the corpora.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS, python, readModel } from './engine-setup.js';

const { ANSWERS } = await import('../../viz/widgets/engine/calls.js');
const { Engine } = await import('../../viz/widgets/engine/engine.js');

const PAIRS = [
  ['de-en', 'en-de'],
  ['en-de', 'de-en'],
  ['zh-en', 'en-zh'],
  ['en-zh', 'zh-en'],
];
const SENTENCES = Number(process.env.SENTENCES ?? 24); // of each model
const MAX_DIFFERENCE = 1e-3; // of a probability
const HARD = {
  de: ['I have lost my keys and my phone.', 'DIE KINDER SPIELEN IM GARTEN UM HALB ACHT.', 'Zwölf Euro fünfzig, bitte, Frau Przybylski!', 'xyzzy qwrtz'],
  en: ['Er hat heute keine Milch getrunken.', 'Mr Przybylski paid £3.50 at half past seven on 3 May.', 'a a a a a a a a a a a a', '🚀 Two dozen eggs!'],
  zh: ['我昨天看見的狗在桌子下面睡覺。', '我早上七点半花了三块五。', 'Where is the station?', '他们在旅途中休息休息，看看大海。'],
};

/** Reliability without and with reading back, and reranked hypotheses, of many sentences in one process. */
const EXPECTED = `
import csv, json, sys
from headlight import Translator
from headlight.model.checkpoints.shipped import MODELS
from headlight.model.translate.back_translation import back_translate_batch
from headlight.model.translate.reliability import load_rule
from headlight.model.translate.reranking import rerank_batch
from headlight.viz.service.payload import reliability_values
from headlight.viz.static_site.page_content import _rule_values
(name, reverse_name), count, extra = json.loads(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
translator, reverse = (Translator.load(each, device="cpu", step_weights="plain") for each in (name, reverse_name))
texts = list(extra)
for file in ("typed", "plain", "everyday-further"):
    with open(f"assets/corpora/{file}.tsv", encoding="utf-8", newline="") as lines:
        rows = [row[name[:2]] for row in csv.DictReader(lines, delimiter="\\t", quoting=csv.QUOTE_NONE)]
    share = -(-count // 3)
    texts += rows[:: max(1, len(rows) // share)][:share]
answers = translator.translate_batch(texts, beam_size=4, no_repeat=4, way_back=reverse)
alone = translator.translate_batch(texts, beam_size=4, no_repeat=4)
backs = back_translate_batch(reverse, answers)
print(json.dumps({"rule": _rule_values(MODELS / name), "rows": [{
    "text": text,
    "alone": [one.text, reliability_values(one.reliability)],
    "ranked": [answer.text, reliability_values(answer.reliability), reliability_values(answer.read_back(back))],
    "hypotheses": [[each.text, each.reverse_score] for each in answer.hypotheses],
} for text, one, answer, back in zip(texts, alone, answers, backs)]}))`;

const close = (one, other, most, what) => assert.ok(Math.abs(one - other) <= most, `${what}: ${one}, ${other}`);
const largest = { alone: 0, back: 0, score: 0 };

function compareReliability(own, expected, kind, what) {
  const { probability, ...values } = JSON.parse(JSON.stringify(own));
  const { probability: other, ...others } = expected;
  assert.deepEqual(values, others, what);
  if (other === null) assert.equal(probability, null, what);
  else {
    largest[kind] = Math.max(largest[kind], Math.abs(probability - other));
    close(probability, other, MAX_DIFFERENCE, what);
  }
}

function newEngine(names, rules) {
  const models = Object.fromEntries(names.map((name) => [name, readModel(name)]));
  const entries = names.map((name, index) => {
    const { config, languages } = models[name];
    const reverse = names[1 - index] ?? '';
    const defaults = { beam_size: 4, no_repeat: 4, back_weight: reverse ? 0.3 : 0 };
    return [name, { name, config, languages, answer_model: { defaults }, cross_heads: { aligning: [], losses: [] }, rule: rules[index], reverse }];
  });
  return new Engine({ models: Object.fromEntries(entries), limits: LIMITS }, { load: async (name) => models[name] });
}

/** The answer of the page's stream. */
async function ask(engine, values) {
  const messages = [];
  await ANSWERS.stream_messages(engine, values, {}, (message) => messages.push(message));
  return messages.at(-1);
}

for (const names of PAIRS) {
  test(`${names[0]}: grades and reasons, back-translations and reranking are Python's`, async () => {
    const [name, reverse] = names;
    const { rule, rows } = python(EXPECTED, names, SENTENCES, HARD[name.slice(0, 2)]);
    assert.ok(rows.length >= SENTENCES && rule.with_back);
    const [both, single] = [newEngine(names, [rule, null]), newEngine([name], [rule])];
    for (const { text, alone, ranked, hypotheses } of rows) {
      const plain = await ask(single, { text, model: name });
      assert.equal(plain.text, alone[0]);
      assert.equal(plain.way_back, '');
      compareReliability(plain.reliability, alone[1], 'alone', `${text} → ${plain.text}`);
      const { reliability: unread } = await ANSWERS.read_back(single, { request: plain.request }, {});
      assert.deepEqual(unread, plain.reliability);

      const answer = await ask(both, { text, model: name });
      const what = `${text} → ${answer.text}`;
      assert.deepEqual(
        answer.hypotheses.map((each) => each.text),
        hypotheses.map(([words]) => words),
        what,
      );
      for (const [index, [, score]] of hypotheses.entries()) {
        const own = answer.hypotheses[index].reverse_score;
        assert.equal(own === null, score === null);
        largest.score = Math.max(largest.score, Math.abs((own ?? 0) - (score ?? 0)));
        close(own ?? 0, score ?? 0, MAX_DIFFERENCE, what);
      }
      assert.equal(answer.text, ranked[0]);
      assert.equal(answer.way_back, reverse);
      compareReliability(answer.reliability, ranked[1], 'alone', what);
      const { reliability } = await ANSWERS.read_back(both, { request: answer.request }, {});
      compareReliability(reliability, ranked[2], 'back', what);
    }
    console.log(`${name}: ${rows.length} sentences, largest differences ${JSON.stringify(largest)}`);
  });
}
