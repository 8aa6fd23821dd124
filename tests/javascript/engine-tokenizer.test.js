// The tokenizer in the browser has the ids, spans, words and labels of Python's.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { python, readTokenizer } from './engine-setup.js';

const { tokenLabels } = await import('../../viz/widgets/engine/labels.js');
const { adaptText, cleanText, removeEmoji } = await import('../../viz/widgets/engine/cleaning.js');

const HARD = [
  'Don’t  we 3个 <pad><s></s> 我用Python編程 ▁Ġ',
  '  ',
  'a',
  '👨‍🚀 fliegt 🇩🇪🇫🇷!',
  'ﬁne e\u0301 n\u0303 \u0301x',
  '12345,67 14:30 3,14',
  'E-Mail gut-gelaunt snake_case',
  '???!!!... —–',
  '“你好”，他说。',
  '日本語のテキスト、ー々',
  'ไทย ລາວ',
  'مرحبا بالعالم',
  'שלום',
  '한국어 문장',
  '𝒜𝓁𝑔𝑒𝒷𝓇𝒶 𠀀𠀁',
  '\u200dx\u200c',
  'x\tb',
  'Straße ẞ ß',
  '①②③ ½ ²',
  '👩🏽‍💻👍🏿',
  '\ufeffabc',
  '龘靐齉',
  'ＡＢＣ１２３！',
  '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
];

const LINES = `
import json, sys
from pathlib import Path
from headlight.model.checkpoints.shipped import MODELS
def lines(name, most):
    texts = []
    for path in sorted((MODELS.parent / "corpora").glob("*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines():
            texts += [part for part in line.split("\\t") if part.strip() and len(part) < 300]
    return sorted(set(texts))[:: max(1, len(set(texts)) // most)]
`;

for (const [model, side] of [
  ['de-en', 'source'],
  ['zh-en', 'source'],
  ['zh-en', 'target'],
  ['en-de', 'source'],
  ['en-zh', 'source'],
  ['toy', 'source'],
]) {
  test(`${model}, ${side}: equal ids, spans, words and labels`, () => {
    const rows = python(
      `${LINES}
from headlight import Translator
from headlight.viz.token_labels import token_labels
name, side, hard = json.loads(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
from headlight.model.text.tokenizer import Tokenizer
folder = MODELS / name
file = folder / "tokenizer.json"
tokenizer = Tokenizer.load(file if file.exists() else folder / f"{side}_tokenizer.json")
rows = []
for index, text in enumerate([*hard, *lines(name, 6000)]):
    ids = tokenizer.encode(text)
    row = {"text": text, "ids": ids}
    if index < 700:
        tokens = tokenizer.written_tokens([*ids, 2])
        labels = token_labels(tokens)
        row["tokens"] = [[t.text, t.start, t.end, t.word, t.special, t.piece, t.pieces, l.text, l.full, l.continues_word] for t, l in zip(tokens, labels)]
        row["decoded"] = tokenizer.decode(ids)
    rows.append(row)
# Half characters: the ids of a text without its first or last token.
for text in hard:
    for ids in (tokenizer.encode(text)[1:], tokenizer.encode(text)[:-1]):
        tokens = tokenizer.written_tokens(ids)
        labels = token_labels(tokens)
        rows.append({"text": None, "ids": ids, "decoded": tokenizer.decode(ids), "tokens": [[t.text, t.start, t.end, t.word, t.special, t.piece, t.pieces, l.text, l.full, l.continues_word] for t, l in zip(tokens, labels)]})
print(json.dumps({"rows": rows, "entries": [tokenizer.label(id) for id in range(tokenizer.vocabulary_size)]}))`,
      model,
      side,
      HARD,
    );
    const tokenizer = readTokenizer(model, side);
    assert.deepEqual(
      rows.entries,
      Array.from({ length: tokenizer.size }, (_, id) => tokenizer.label(id)),
    );
    assert.ok(rows.rows.length > 3000);
    for (const { text, ids, tokens, decoded } of rows.rows) {
      if (text !== null) assert.deepEqual(tokenizer.encode(text), ids, text);
      if (!tokens) continue;
      assert.equal(tokenizer.decode(ids), decoded);
      const own = tokenizer.tokens(text === null ? ids : [...ids, 2]);
      const labels = tokenLabels(own);
      const values = own.map((token, index) => [
        ...[token.text, token.start, token.end, token.word, token.special, token.piece, token.pieces],
        ...[labels[index].text, labels[index].full, labels[index].joined],
      ]);
      assert.deepEqual(values, tokens, text ?? String(ids));
    }
  });
}

test('cleaned and adapted texts are equal', () => {
  const texts = [
    ...HARD,
    'DAS IST SEHR WICHTIG. NICHT WAHR? I AM HERE',
    'I THINK I KNOW. (YES) 12 GO',
    'UNESCO',
    'US NAVY',
    'Hallo 😀 Welt',
    '你好😀世界',
    '😀😀',
    'a😀b',
    'x 😀 .',
    '我們編寫著程式',
    '著名的學者看著書',
    '乾淨',
    '  viel   Platz\u00a0hier ',
    'so\u00adft\u200b',
    'e\u0301',
    'ÜBER ÄRGER SPRECHEN',
    '你好 HELLO WORLD AGAIN',
  ].filter((text) => text.trim());
  const expected = python(
    `
import json, sys
from headlight.model.text.cleaning import clean_text
from headlight.model.text.adaptation import adapt_text, remove_emoji
rows = []
for text in json.loads(sys.argv[1]):
    cleaned = clean_text(text)
    shorter = remove_emoji(cleaned)
    rows.append([cleaned, shorter, *([*adapt_text(shorter, language)] for language in ("de", "en", "zh"))])
print(json.dumps(rows))`,
    texts,
  );
  for (const [index, text] of texts.entries()) {
    const shorter = removeEmoji(cleanText(text));
    const adapted = ['de', 'en', 'zh'].map((language) => Object.values(adaptText(shorter, language)));
    assert.deepEqual([cleanText(text), shorter, ...adapted], expected[index], text);
  }
});
