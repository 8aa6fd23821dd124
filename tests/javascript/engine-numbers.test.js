// Numbers, dates, times and languages of the engine in the browser, against Python's.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { python } from './engine-setup.js';

const { findNumbers, unmatchedNumbers } = await import('../../viz/widgets/engine/numbers.js');
const { identify } = await import('../../viz/widgets/engine/identification.js');

/** Lines of corpora in their languages, the examples of Python's own tests, and number words. */
const EXPECTED = `
import csv, json, random, sys
from headlight.model.text.identification import identify
from headlight.model.text.numbers import find_numbers, unmatched_numbers
from tests.model.text import test_numbers
from workshop.data.templates.numerals import chinese, english, german
step = json.loads(sys.argv[1])
texts, pairs = [], []
for name in ("typed", "plain", "everyday-extra", "everyday-further", "everyday-more", "everyday-zh"):
    with open(f"assets/corpora/{name}.tsv", encoding="utf-8", newline="") as file:
        for row in list(csv.DictReader(file, delimiter="\\t", quoting=csv.QUOTE_NONE))[:: 1 if name in ("typed", "plain") else step]:
            columns = [(language, row[language]) for language in ("de", "en", "zh") if row.get(language)]
            texts += columns
            pairs.append(columns[:2])
for name, value in vars(test_numbers).items():
    for mark in getattr(value, "pytestmark", ()) if name.startswith("test_") else ():
        for row in mark.args[1]:
            row = getattr(row, "values", row)
            if isinstance(row, tuple) and row[0] in ("de", "en", "fr", "zh") and isinstance(row[1], str):
                texts.append(row[:2])
generator = random.Random(2)
for number in [*range(130), *(generator.randrange(10**6) for _ in range(200))]:
    texts += [("de", german(number)), ("en", english(number)), ("zh", chinese(number)), ("fr", test_numbers.french(number))]
texts += [("en", "The 𝟑 of ３：３０, ٣ and 😀 7."), ("de", "Ich habe 𠀀 3 Euro 20 und 1.000,5."), ("zh", "我有３５，０００块五。"), ("fr", "il est 8 h 30")]
numbers = [find_numbers(text, language) for language, text in texts]
unmatched = [unmatched_numbers(*(find_numbers(text, language) for language, text in pair)) for pair in pairs]
print(json.dumps({"texts": texts, "numbers": numbers, "languages": [identify(text) for _, text in texts], "pairs": pairs, "unmatched": unmatched}))`;

const { texts, numbers, languages, pairs, unmatched } = python(EXPECTED, Number(process.env.STEP ?? 7));
const rows = (list) => list.map(({ value, start, end, required, clock }) => [value, start, end, required, clock]);

test(`numbers of ${texts.length} texts are Python's`, () => {
  assert.ok(texts.length > 5000 && numbers.flat().length > 2000);
  for (const [index, [language, text]] of texts.entries()) {
    assert.deepEqual(rows(findNumbers(text, language)), numbers[index], `${language}: ${text}`);
  }
});

test('numbers without a counterpart are Python’s', () => {
  for (const [index, pair] of pairs.entries()) {
    const [source, target] = pair.map(([language, text]) => findNumbers(text, language));
    assert.deepEqual(unmatchedNumbers(source, target).map(rows), unmatched[index], JSON.stringify(pair));
  }
});

test('languages are Python’s', () => {
  for (const [index, [language, text]] of texts.entries()) assert.equal(identify(text), languages[index], `${language}: ${text}`);
});
