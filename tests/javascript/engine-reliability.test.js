// Reliability, reading back and reranking of the engine in the browser, against Python's, on sentences of the corpora.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS, python, readModel } from './engine-setup.js';

const { ANSWERS } = await import('../../viz/widgets/engine/calls.js');
const { Engine } = await import('../../viz/widgets/engine/engine.js');
const { isCareless, respell } = await import('../../viz/widgets/engine/respelling.js');
const { judgeTranslation } = await import('../../viz/widgets/engine/reliability.js');

const PAIRS = [
  ['de-en', 'en-de'],
  ['en-de', 'de-en'],
  ['zh-en', 'en-zh'],
  ['en-zh', 'zh-en'],
];
const SENTENCES = Number(process.env.SENTENCES ?? 3); // of each model, which the engine translates
const JUDGED = Number(process.env.JUDGED ?? 16); // of each model, which Python translates for both
const MAX_DIFFERENCE = 1e-3; // of a probability
const RERANKED = 'Moritz spielt Geige und Annika Schlagzeug.'; // its best translation changes with reranking
const HARD = {
  de: [
    'I have lost my keys and my phone.',
    'DIE KINDER SPIELEN IM GARTEN UM HALB ACHT.',
    'Zwölf Euro fünfzig, bitte, Frau Przybylski!',
    'Sie wohnt bei Familie Rumpelstilzchen in Bad Oeynhausen.',
    'wie heisst die strasse, in der du wonhst',
    'der laden hat um zwoelf uhr geschlosen',
  ],
  en: [
    'Er hat heute keine Milch getrunken.',
    'Mr Przybylski paid £3.50 at half past seven on 3 May.',
    'a a a a a a a a a a a a',
    '🚀 Two dozen eggs!',
    'i dont know if im late, tommorow i will haev more time',
  ],
  zh: [
    '我昨天看見的狗在桌子下面睡覺。',
    '我早上七点半花了三块五。',
    'Where is the station?',
    '他们在旅途中休息休息，看看大海。',
    '好久不见 你最近怎么样',
    '我不知道,他在哪里.',
  ],
};

/** Sentences of the corpora. */
const TEXTS = `
import csv
def read_texts(language, count):
    texts = []
    for file in ("typed", "plain", "everyday-further"):
        with open(f"assets/corpora/{file}.tsv", encoding="utf-8", newline="") as lines:
            rows = [row[language] for row in csv.DictReader(lines, delimiter="\\t", quoting=csv.QUOTE_NONE)]
        share = -(-count // 3)
        texts += rows[:: max(1, len(rows) // share)][:share]
    return texts
`;

/** Reliability without and with reading back, and reranked hypotheses, of many sentences in one process. */
const EXPECTED = `
${TEXTS}
import json, sys
from headlight import Translator
from headlight.model.checkpoints.shipped import MODELS
from headlight.model.translate.back_translation import back_translate_batch
from headlight.model.translate.reliability import load_rule
from headlight.model.translate.reranking import rerank_batch
from headlight.viz.service.payload import make_reliability_values
from headlight.viz.static_site.page_content import _rule_values
(name, reverse_name), count, extra = json.loads(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
translator, reverse = (Translator.load(each, device="cpu", step_weights="plain") for each in (name, reverse_name))
texts = extra + read_texts(name[:2], count)
answers = translator.translate_batch(texts, beam_size=4, no_repeat=4, way_back=reverse)
alone = translator.translate_batch(texts, beam_size=4, no_repeat=4)
backs = back_translate_batch(reverse, answers)
print(json.dumps({"rule": _rule_values(MODELS / name), "rows": [{
    "text": text,
    "alone": [one.text, make_reliability_values(one.reliability)],
    "ranked": [answer.text, make_reliability_values(answer.reliability), make_reliability_values(answer.read_back(back))],
    "hypotheses": [[each.text, each.reverse_score] for each in answer.hypotheses],
} for text, one, answer, back in zip(texts, alone, answers, backs)]}))`;

/** Greedy translations with the mean of cross-attention, and their reliability without and with reading back, of all models. */
const GREEDY = `
${TEXTS}
import json, sys
from headlight import Translator
from headlight.model.checkpoints.shipped import MODELS
from headlight.model.translate.back_translation import back_translate_batch
from headlight.model.translate.reliability import UnfittedRule
from headlight.viz.service.payload import make_reliability_values
from headlight.viz.static_site.page_content import _rule_values
pairs, count, extra = map(json.loads, sys.argv[1:])
translators = {name: Translator.load(name, device="cpu", step_weights="plain") for name, _ in pairs}
def token_values(tokens):
    return [{"word": token.word, "start": token.start, "end": token.end, "probability": token.probability} for token in tokens]
def judged_rows(name, reverse):
    answers = translators[name].translate_batch(extra[name[:2]] + read_texts(name[:2], count), max_length=18)
    if name.endswith("en"):
        answers.append(translators[name].translate(extra[name[:2]][1], prefix="In the middle of the middle of the middle of", max_length=30))
    for answer, back in zip(answers, back_translate_batch(translators[reverse], answers)):
        yield {
            "sourceText": answer.source_text, "text": answer.text, "stopped": answer.stopped,
            "source": token_values(answer.source_tokens), "target": token_values(answer.target_tokens),
            "cross": answer.attention.cross.mean(axis=(0, 1), dtype="f8").ravel().tolist(),
            "back": back and {"text": back.text, "tokens": token_values(back.tokens), "sentence": back.sentence},
            "expected": [make_reliability_values(values) for values in (answer.reliability, answer.read_back(back), UnfittedRule().judge(answer))],
        }
print(json.dumps({name: {"rule": _rule_values(MODELS / name), "rows": list(judged_rows(name, reverse))} for name, reverse in pairs}))`;

/** Sentences as people type them, in the spelling of the sentence itself and of the one before it. */
const RESPELT = `
import csv, json
from headlight.model.text.respelling import is_careless, respell
from headlight.model.training.as_typed import as_typed
rows = []
with open("assets/corpora/typed.tsv", encoding="utf-8", newline="") as lines:
    table = list(csv.DictReader(lines, delimiter="\\t", quoting=csv.QUOTE_NONE))
for language in ("de", "en", "zh"):
    for number, row in enumerate(table):
        typed = as_typed(row[language], language, number)
        for back in (row[language], table[number - 1][language], row[language][1:], ""):
            rows.append([typed, back, language, respell(typed, back, language), is_careless(typed, language)])
print(json.dumps(rows))`;

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
    return [
      name,
      { name, config, languages, answer_model: { defaults }, cross_heads: { aligning: [], losses: [] }, rule: rules[index], reverse },
    ];
  });
  return new Engine({ models: Object.fromEntries(entries), limits: LIMITS }, { load: async (name) => models[name] });
}

/** The answer of the page's stream. */
async function ask(engine, values) {
  const messages = [];
  await ANSWERS.stream_messages(engine, values, {}, (message) => messages.push(message));
  return messages.at(-1);
}

test('sentences as people type them are respelt as in Python', () => {
  const rows = python(RESPELT);
  assert.ok(rows.length > 2000 && rows.filter(([typed, , , spelt]) => typed !== spelt).length > 1000);
  for (const [typed, back, language, spelt, careless] of rows) {
    assert.equal(respell(typed, back, language), spelt);
    assert.equal(isCareless(typed, language), careless, typed);
  }
});

test('grades and reasons of many translations are Python’s', () => {
  const kinds = new Set();
  for (const [name, { rule, rows }] of Object.entries(python(GREEDY, PAIRS, JUDGED, HARD))) {
    assert.ok(rows.length >= JUDGED);
    for (const { cross, back, expected, ...values } of rows) {
      const known = ({ probability, ...token }) => ({ ...token, ...(probability === null ? {} : { probability }) });
      const source = values.source.map(known);
      const translation = { ...values, source, request: { target: null }, maps: { cross: [Float64Array.from(cross)] }, heads: 1 };
      const what = `${name}: ${values.sourceText} → ${values.text}`;
      compareReliability(judgeTranslation(translation, rule), expected[0], 'alone', what);
      compareReliability(judgeTranslation(translation, rule, back), expected[1], 'back', what);
      compareReliability(judgeTranslation(translation, null), expected[2], 'alone', what);
      for (const { kind } of expected.flatMap(({ reasons }) => reasons)) kinds.add(kind);
    }
    console.log(`${name}: ${rows.length} translations, largest differences ${JSON.stringify(largest)}`);
  }
  const frequent = ['language', 'loop', 'left_out', 'name', 'numbers', 'repeated', 'unfinished', 'unsure'];
  assert.deepEqual(
    frequent.filter((kind) => !kinds.has(kind)),
    [],
  );
});

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

test('the words of the first model are shown while the reverse model loads, and the answer is the reranked one', async () => {
  const [name, reverse] = PAIRS[0];
  const engine = newEngine([name, reverse], [null, null]);
  const models = { [name]: readModel(name), [reverse]: readModel(reverse) };
  const [events, messages] = [/** @type {string[]} */ ([]), /** @type {any[]} */ ([])];
  const gate = Promise.withResolvers();
  engine.loader = /** @type {any} */ ({
    load: async (each) => {
      events.push(`load ${each}`);
      await (each === reverse ? gate.promise : null);
      events.push(`loaded ${each}`);
      return models[each];
    },
  });
  const asking = ANSWERS.stream_messages(engine, { text: RERANKED, model: name }, {}, (message) => messages.push(message));
  while (events.length < 3 || !messages.length) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(events, [`load ${name}`, `loaded ${name}`, `load ${reverse}`]);
  const alone = await ask(newEngine([name], [null]), { text: RERANKED, model: name });
  assert.deepEqual([messages.at(-1).what, messages.at(-1).text], ['progress', alone.text]);
  gate.resolve(null);
  await asking;
  assert.equal(messages.at(-1).what, 'answer');
  assert.notEqual(messages.at(-1).text, alone.text);
});
