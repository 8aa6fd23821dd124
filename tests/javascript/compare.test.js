import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered } from './setup.js';

const { Translation } = await import('../../viz/widgets/core/translation.js');
const { state } = await import('../../viz/widgets/core/state.js');
const { comparisonMode, secondModelName, secondRequest } = await import('../../viz/widgets/compare/second-model.js');
const { HeadSimilarity } = await import('../../viz/widgets/compare/head-similarity.js');
const { diffText, unitOfItem } = await import('../../viz/widgets/compare/common-words.js');
const { TokenMatching } = await import('../../viz/widgets/compare/token-matching.js');
const { transposedTranslation } = await import('../../viz/widgets/compare/transposed.js');

const forward = new Translation(
  answered({
    sources: ['Hund', 'jetzt', '</s>'],
    targets: ['dog', '</s>'],
    maps: [
      [
        [0.5, 0.5, 0],
        [0, 0, 1],
      ],
    ],
  }),
);
// The back-translation reads "dog" and writes "Hund", without "jetzt".
const backTranslation = transposedTranslation(
  new Translation(
    answered({
      sources: ['dog', '</s>'],
      targets: ['Hund', '</s>'],
      maps: [
        [
          [0.75, 0.25],
          [0, 1],
        ],
        [
          [0, 1],
          [1, 0],
        ],
      ],
    }),
  ),
);
const unit = (label, first, second, special = false) => ({ label, full: label, special, first, second });
const partners = new TokenMatching({
  source: { same: false, units: [unit('Hund', [0], [0]), unit('jetzt', [1], []), unit('</s>', [2], [1], true)] },
  target: { same: true, units: [unit('dog', [0], [0]), unit('</s>', [1], [1], true)] },
});
const assertClose = (values, expected) => {
  assert.equal(values.length, expected.length);
  for (const [place, value] of expected.entries()) {
    if (value !== value) assert.ok(Number.isNaN(values[place]), `${place}: ${values[place]}`);
    else assert.ok(Math.abs(values[place] - value) < 1e-4, `${place}: ${values[place]} instead of ${value}`);
  }
};

test('a back-translation is transposed onto the axes of the translation', () => {
  assert.deepEqual(
    [backTranslation.rows('cross'), backTranslation.columns('cross')].map((tokens) => tokens.map(({ label }) => label)),
    [
      ['dog', '</s>'],
      ['Hund', '</s>'],
    ],
  );
  const { weights, rows, columns } = backTranslation.map('cross', 0, 0);
  assert.deepEqual([rows, columns], [2, 2]);
  assertClose(weights, [0.75, 0, 0.25, 1]);
  assert.equal(backTranslation.source_text, 'Hund </s>');
});

test('a word missing on one side is NaN in its map and in the difference', () => {
  const similarity = new HeadSimilarity(partners, [forward, backTranslation], 'cross', true);
  const head = { layer: 0, head: 0 };
  assertClose(similarity.map(1, head), [0.75, NaN, 0, 0.25, NaN, 1]);
  assertClose(similarity.difference(head, head), [-0.25, NaN, 0, -0.25, NaN, 0]);
});

test('similarity with a back-translation compares rows normalised over common words', () => {
  const similarity = new HeadSimilarity(partners, [forward, backTranslation], 'cross', true);
  // Row "dog": 1, 0 against 1, 0. Row "</s>": 0, 1 against 0.2, 0.8.
  assert.ok(Math.abs(similarity.sharedAttention({ layer: 0, head: 0 }, { layer: 0, head: 0 }).share - 0.9) < 1e-3);
  const ranking = similarity.rankHeads({ layer: 0, head: 0 });
  assert.deepEqual(
    ranking.map(({ head }) => head),
    [0, 1],
  );
  assert.equal(similarity.sharedAttention({ layer: 0, head: 'max' }, { layer: 0, head: 0 }), null);
});

test('a map is equal to itself', () => {
  const same = new TokenMatching({
    source: { same: true, units: [unit('Hund', [0], [0]), unit('jetzt', [1], [1]), unit('</s>', [2], [2], true)] },
    target: { same: true, units: [unit('dog', [0], [0]), unit('</s>', [1], [1], true)] },
  });
  const similarity = new HeadSimilarity(same, [forward, forward], 'cross');
  const { share, rows } = similarity.sharedAttention({ layer: 0, head: 0 }, { layer: 0, head: 0 });
  assert.ok(Math.abs(share - 1) < 1e-3);
  assert.equal(rows, 2);
});

test('a pinned position is found among the common words', () => {
  const { units } = new HeadSimilarity(partners, [forward, backTranslation], 'cross', true);
  const showing = { words: false, special: true };
  assert.equal(unitOfItem(units, 'columns', forward, 'cross', showing, 1), 1);
  assert.equal(unitOfItem(units, 'rows', forward, 'cross', showing, null), null);
});

test('deleted words are struck through and inserted ones bold', () => {
  const element = (tag) => ({
    tag,
    nodes: [],
    setAttribute() {},
    append: (...nodes) => nodes.forEach((node) => nodesByTag.get(tag).push(node)),
  });
  const nodesByTag = new Map([
    ['s', []],
    ['b', []],
  ]);
  globalThis.document = /** @type {any} */ ({ createElement: element });
  const units = [unit('a', [0], [0]), unit('b', [1], []), unit('c', [], [1])].map(({ first, second, ...rest }) => ({
    ...rest,
    places: [first, second],
  }));
  const tokens = [
    [
      { start: 0, end: 1 },
      { start: 2, end: 3 },
    ],
    [
      { start: 0, end: 1 },
      { start: 2, end: 3 },
    ],
  ];
  const nodes = diffText(units, ['a b', 'a c'], tokens);
  assert.deepEqual(
    nodes.filter((node) => typeof node === 'string'),
    ['a', ' ', ' '],
  );
  assert.deepEqual(
    [...nodesByTag],
    [
      ['s', ['b']],
      ['b', ['c']],
    ],
  );
});

const modelList = (...models) => models.map(([name, source, target]) => ({ name, source, target }));
const translation = /** @type {any} */ ({
  text: 'The dog',
  model: { name: 'first', source: 'de', target: 'en', defaults: { beam_size: 4, temperature: 0 } },
  requestValues: () => ({ text: 'Der Hund', model: 'first', beam_size: 4, temperature: 0 }),
});

for (const [name, models, second, mode] of /** @type {[string, any[], string, string][]} */ ([
  ['a reverse model', modelList(['first', 'de', 'en'], ['same', 'deu_Latn', 'eng_Latn'], ['back', 'eng_Latn', 'deu_Latn']), 'back', 'back'],
  ['the same model without a reverse model', modelList(['first', 'de', 'en'], ['reads', 'de', 'fr'], ['many', '', '']), 'first', 'same'],
  ['never the toy model', modelList(['first', 'de', 'en'], ['toy', 'en', 'de']), 'first', 'same'],
])) {
  test(`the default second model is ${name}`, () => {
    const config = { models, beam: 8 };
    assert.equal(secondModelName(config, translation), second);
    assert.equal(comparisonMode(config, translation), mode);
  });
}

test('a back-translation reads the answer; the same model reads the sentence with greedy search', () => {
  const models = modelList(['first', 'de', 'en'], ['back', 'en', 'de'], ['other', 'de', 'en']);
  assert.deepEqual(secondRequest({ models, beam: 8 }, translation), { text: 'The dog', model: 'back' });
  assert.deepEqual(secondRequest({ models: models.slice(0, 1), beam: 8 }, translation), { text: 'Der Hund', model: 'first', beam_size: 1 });
  assert.equal(secondModelName({ models, beam: 8 }, { ...translation, text: ' ' }), 'first');
  Object.assign(state, { beside: 'other', besideSame: true });
  assert.deepEqual(secondRequest({ models, beam: 8 }, translation), { text: 'Der Hund', model: 'other', target: 'The dog' });
  Object.assign(state, { beside: '', besideSame: false });
});

test('a row names the input word if both sides read the same, else none', () => {
  const answer = (targets) =>
    new Translation(answered({ sources: ['Hund', '</s>'], targets, maps: targets.map(() => [targets.map(() => [0.5, 0.5])]).slice(0, 1) }));
  const rows = (first, second, units) => {
    const matching = new TokenMatching({
      source: { same: true, units: [unit('Hund', [0], [0]), unit('</s>', [1], [1], true)] },
      target: units,
    });
    return new HeadSimilarity(matching, [answer(first), answer(second)], 'cross').units.rows.map(({ read }) => read?.label ?? null);
  };
  const dog = [unit('a', [0], []), unit('the', [], [0]), unit('dog', [1], [1]), unit('</s>', [2], [2], true)];
  const labels = rows(['a', 'dog', '</s>'], ['the', 'dog', '</s>'], { same: false, units: dog });
  assert.deepEqual(labels.slice(2), [null, 'dog']);
  assert.equal(labels[0], forward.start.label);
});
