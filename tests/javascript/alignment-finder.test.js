import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { answered } from './setup.js';

const { Translation } = await import('../../viz/widgets/core/translation.js');
const { findAttentionLinks, rankHeads, readPharaoh, scoreLinks, makeLinkUnits, writePharaoh } = await import(
  '../../viz/widgets/parts/word-links.js'
);
const { chooseAndTest, parseTable } = await import('../../viz/widgets/heads/gold-file.js');
const { joinSentences, describeHead } = await import('../../viz/widgets/heads/head-explanation.js');

// The first head aligns words; the second attends to the previous target word, one row later.
const translation = new Translation(
  answered({
    sources: ['Der', 'Hund', 'bellt', '</s>'],
    targets: ['The', 'dog', 'barks', '</s>'],
    maps: [
      [
        [0.9, 0.1, 0, 0],
        [0.1, 0.8, 0.1, 0],
        [0, 0.1, 0.9, 0],
        [0, 0, 0, 1],
      ],
      [
        [0, 0, 0, 1],
        [0.9, 0.1, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
      ],
    ],
  }),
);
const sources = makeLinkUnits(translation.source, translation.source_text, true);
const targets = makeLinkUnits(translation.target, translation.text, true);
const straight = readPharaoh('0-0 1-1 2-2', 3, 3).gold;

test('special tokens are not words, and pieces of a word are one unit', () => {
  assert.deepEqual(
    sources.map(({ label }) => label),
    ['Der', 'Hund', 'bellt'],
  );
  const pieces = [
    { label: 'bel', word: 0, start: 0, end: 3 },
    { label: 'lt', word: 0, start: 3, end: 5 },
  ];
  assert.deepEqual(makeLinkUnits(pieces, 'bellt', true), [{ places: [0, 1], label: 'bellt' }]);
  assert.equal(makeLinkUnits(pieces, 'bellt', false).length, 2);
});

test('heads with equal rates are ranked by their weight on the gold links', () => {
  const { gold } = readPharaoh('0-0', 3, 3);
  const ranked = rankHeads(translation, sources, targets, gold);
  const best = ranked.filter(({ rate }) => rate === ranked[0].rate);
  assert.ok(best.length > 1);
  const weights = best.map(({ weight }) => weight);
  assert.deepEqual(
    weights,
    [...weights].sort((one, other) => other - one),
  );
  const [{ head, shift, weight }] = ranked;
  assert.ok(Math.abs(weight - 0.9) < 1e-3, `${head} ${shift} ${weight}`);
  const both = rankHeads(translation, sources, targets, readPharaoh('1-1 2-2', 3, 3).gold).find((each) => !each.head && !each.shift);
  assert.ok(Math.abs(both.weight - (0.8 + 0.9) / 2) < 1e-3);
});

test('links are read from the row of a word or from the row after it', () => {
  const map = (head) => translation.map('cross', 0, head);
  assert.deepEqual(findAttentionLinks(map(0), targets, sources, 0), [
    [0, 0],
    [1, 1],
    [2, 2],
  ]);
  assert.deepEqual(findAttentionLinks(map(1), targets, sources, 1), [
    [0, 0],
    [1, 1],
    [2, 2],
  ]);
  const [first, second] = rankHeads(translation, sources, targets, straight);
  assert.deepEqual(
    [first, second].map(({ head, shift, rate }) => [head, shift, rate]),
    [
      [1, 1, 0], // both are correct; this one has more weight
      [0, 0, 0],
    ],
  );
});

test('rate, precision and recall by hand', () => {
  const { gold } = readPharaoh('0-0 1-1 2-1p', 3, 3);
  const { rate, precision, recall } = scoreLinks(
    [
      [0, 0],
      [2, 1],
      [2, 2],
    ],
    gold,
  );
  // A has 3 links, S 2; A ∩ S is 1, A ∩ P is 2.
  assert.ok(Math.abs(rate - (1 - 3 / 5)) < 1e-9);
  assert.ok(Math.abs(precision - 2 / 3) < 1e-9);
  assert.equal(recall, 0.5);
  assert.deepEqual(scoreLinks([], new Map()), { rate: 0, precision: 1, recall: 1 });
});

// A real answer, and the rates of its heads computed in Python for the same links.
const SCRIPT = `
import json
from headlight import Translator
from headlight.model.measures.alignment import count_head_errors, parse_links
from headlight.viz.service.payload import answer_dict

def spans(tokens):
    words = {}
    for token in tokens:
        if not token.special:
            words[token.word] = (words.get(token.word, (token.start,))[0], token.end)
    return list(words.values())

answer = Translator.load("assets/models/de-en", device="cpu").translate("Die Bahnhofstraße ist seit gestern gesperrt.")
source, target = spans(answer.source_tokens), spans(answer.target_tokens)
gold = parse_links("0-0 1-1 1-2p 2-3", len(source), len(target))
counts = count_head_errors(answer.attention.cross, answer.target_tokens, target, answer.source_tokens, source, gold)
rates = [[*place, each.rate, each.precision, each.recall] for place, each in counts.items()]
about = {"name": "de-en", "source": "de", "target": "en"}
print(json.dumps({"answer": answer_dict(answer, about), "words": [len(source), len(target)], "rates": rates}))
`;

test('heads have the same rates as in Python', () => {
  const output = execFileSync(process.env.PYTHON ?? 'python3', ['-c', SCRIPT], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  const { answer, words, rates } = JSON.parse(output.trim().split('\n').at(-1) ?? '');
  const real = new Translation(answer);
  const units = [makeLinkUnits(real.source, real.source_text, true), makeLinkUnits(real.target, real.text, true)];
  assert.deepEqual(
    units.map(({ length }) => length),
    words,
  );
  assert.ok(units[0].some(({ places }) => places.length > 1));
  const ranked = rankHeads(real, units[0], units[1], readPharaoh('0-0 1-1 1-2p 2-3', words[0], words[1]).gold);
  assert.equal(ranked.length, rates.length);
  for (const [layer, head, shift, ...expected] of rates) {
    const own = ranked.find((each) => each.layer === layer && each.head === head && each.shift === shift);
    for (const [place, value] of [own.rate, own.precision, own.recall].entries()) assert.ok(Math.abs(value - expected[place]) < 1e-9);
  }
});

test('Pharaoh format is read and written, and errors are reported', () => {
  assert.equal(writePharaoh(readPharaoh(' 1-2p 0-0  10-1 2?1', 11, 3).gold), '0-0 1-2p 2-1p 10-1');
  assert.equal(readPharaoh('0-0 1:1', 3, 3).fault, 'links_no_link');
  assert.deepEqual(readPharaoh('0-3', 3, 3), { fault: 'links_beyond', entry: '0-3' });
  assert.equal(readPharaoh('', 3, 3).gold.size, 0);
});

test('a head is explained by its role, its width and its steadiness', () => {
  const here = { role: 'aligns', share: 0.8, measures: { relative_entropy: 0.2, peak: 0.8, distance: 1.5 } };
  const keys = (...values) => describeHead(...values).map(([key]) => key);
  assert.deepEqual(keys(here, { role: 'aligns', held: 0.9 }, 200), ['explain_here', 'explain_narrow', 'explain_steady']);
  assert.deepEqual(keys(here, { role: 'aligns', held: 0.5 }, 200), ['explain_here', 'explain_narrow', 'explain_often']);
  const wide = { role: 'spreads', share: 0.8, measures: { ...here.measures, relative_entropy: 0.9 } };
  assert.deepEqual(keys(wide, { role: 'end', held: 0.4 }, 200), ['explain_spreads', 'explain_wide', 'explain_otherwise']);
  assert.deepEqual([joinSentences(['A.', 'B.']), joinSentences(['甲。', '乙。'])], ['A. B.', '甲。乙。']);
  assert.deepEqual(keys(wide, { role: 'unclear', held: 0.8 }, 200), ['explain_spreads', 'explain_wide', 'explain_unclear_too']);
  assert.deepEqual(keys({ ...here, role: 'unclear', measures: { relative_entropy: NaN } }, undefined), ['explain_unclear']);
});

test('a table of links is read in both directions', () => {
  const model = { source: 'de', target: 'en' };
  const table = 'de\ten\tlinks\r\nEin Hund.\tA dog.\t0-0 1-1\n\n';
  assert.deepEqual(parseTable(table, model), { isReversed: false, rows: [['Ein Hund.', 'A dog.', '0-0 1-1']] });
  assert.deepEqual(parseTable(table, { source: 'eng_Latn', target: 'deu_Latn' }), {
    isReversed: true,
    rows: [['Ein Hund.', 'A dog.', '0-0 1-1']],
  });
  assert.equal(parseTable('a\tb\n1\t2', model), null);
  assert.equal(parseTable('', model), null);
});

test('heads are chosen on every other pair and tested on the rest', () => {
  const head = (number, ...pairs) => [`0.${number}.0`, { layer: 0, head: number, shift: 0, pairs }];
  const [none, all] = [
    [2, 2, 0, 0],
    [2, 2, 2, 2],
  ];
  const rankedHeads = chooseAndTest(new Map(/** @type {any} */ ([head(0, none, all, none), head(1, all, none, all)])));
  assert.deepEqual(
    rankedHeads.map(({ head: number, selectionRate, rate, precision, recall }) => [number, selectionRate, rate, precision, recall]),
    [
      [1, 0, 1, 0, 0],
      [0, 1, 0, 1, 1],
    ],
  );
});
