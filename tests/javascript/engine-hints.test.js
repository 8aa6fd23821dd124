// Hints about the language of a sentence and about how a model reads it are those of the server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS, python, readModel } from './engine-setup.js';

const { ANSWERS } = await import('../../viz/widgets/engine/calls.js');
const { Engine } = await import('../../viz/widgets/engine/engine.js');
const { languageHint } = await import('../../viz/widgets/engine/language-hint.js');

const MODELS = ['de-en', 'en-de', 'en-zh', 'toy', 'zh-en'];
const HARD = [
  'Hallo',
  'Danke!',
  'Guten Morgen',
  'Thank you very much.',
  'The dog is sleeping under the table now.',
  'Je ne sais pas où est la gare, mais je peux vous aider.',
  'No sé dónde está la estación, pero puedo ayudarle con las maletas.',
  '¿Qué?',
  'Не знаю, где вокзал.',
  'Де тут вокзал? Їжак!',
  '駅はどこですか。',
  '東京',
  '狗在桌子底下睡觉。',
  '我昨天看見的狗在桌子下面睡覺。',
  '我用 Python 写程序 every day',
  'Ich sage: 你好，世界！',
  'مرحبا بالعالم',
  'گربه کجاست؟',
  'שלום לכולם',
  '한국어 문장입니다.',
  'Dov’è la stazione, per favore? Non lo so.',
  'DIE KINDER SPIELEN IM GARTEN.',
  'THE CHILDREN ARE PLAYING IN THE GARDEN.',
  'UNESCO',
  '😀😀',
  '12345 67.8',
  'xyzzy plugh',
  'i i i i i',
];

/** Hints for texts of the corpora and for `hard`, by model. */
const EXPECTED = `
import json, sys
from types import SimpleNamespace
from headlight.model.checkpoints.shipped import MODELS
from headlight.model.records import TranslationRequest
from headlight.viz.service.language_hints import find_language_hint
from headlight.viz.service.model_json import answer_model
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
names, hard = map(json.loads, sys.argv[1:])
service = Service(Settings())
texts = set()
for path in sorted((MODELS.parent / "corpora").glob("*.tsv")):
    texts |= {part for line in path.read_text(encoding="utf-8").splitlines() for part in line.split("\\t") if part.strip()}
texts = hard + sorted(texts)[:: len(texts) // 2000]
def hint(text, name):
    return find_language_hint(service, SimpleNamespace(request=TranslationRequest(text=text, model=name)))
print(json.dumps({
    "models": [answer_model(service, TranslationRequest(text="", model=name)) for name in names],
    "rows": [{"text": text, "hints": [hint(text, name) for name in names]} for text in texts],
}))`;

const { models, rows } = python(EXPECTED, MODELS, HARD);
/** @type {any[]} */
const entries = models.map((model) => ({
  name: model.name,
  answer_model: model,
  languages: { source: model.source, target: model.target },
}));

test('languages of many texts are detected as on the server, with the same models in the same order', () => {
  assert.ok(rows.length > 2000);
  for (const { text, hints } of rows) {
    for (const [index, entry] of entries.entries())
      assert.deepEqual(languageHint(text, entry, entries), hints[index], `${entry.name}: ${text}`);
  }
  const detected = new Set(rows.flatMap(({ hints }) => hints.map((hint) => hint?.language)));
  assert.ok(
    ['ar', 'de', 'en', 'es', 'fr', 'ja', 'ko', 'ru', 'uk', 'zh'].every((language) => detected.has(language)),
    [...detected].join(),
  );
});

test('only models of the page are offered', () => {
  const [german, english] = entries;
  assert.deepEqual(languageHint('Where is the station?', german, [german])?.offers, []);
  assert.deepEqual(
    languageHint('Where is the station?', german, [german, english])?.offers.map(({ model }) => model),
    ['en-de'],
  );
});

test('answers carry the hint, and how the model read the sentence', async () => {
  const loaded = readModel('de-en');
  const entry = { ...entries[0], config: loaded.config, cross_heads: { aligning: [], losses: [] }, rule: null, reverse: '' };
  const engine = new Engine({ models: { 'de-en': entry, 'en-de': entries[1] }, limits: LIMITS }, { load: async () => loaded });
  const ask = async (values) => {
    const messages = [];
    await ANSWERS.stream_messages(engine, values, {}, (message) => messages.push(message));
    return messages.at(-1);
  };
  const offer = { model: 'en-de', source_language: '', source: 'en', target: 'de' };
  for (const live of [false, true]) {
    assert.deepEqual((await ask({ text: 'The dog is here now.', live })).hint, { language: 'en', reads: 'de', offers: [offer] });
    assert.equal((await ask({ text: 'Der Hund ist jetzt hier.', live })).hint, null);
  }
  const { hint, adaptations } = await ask({ text: 'DER HUND IST JETZT HIER 😀' });
  assert.deepEqual([hint, adaptations], [null, ['capitals', 'emoji']]);
});
