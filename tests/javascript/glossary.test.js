import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { Glossary, TERMS } = await import('../../viz/widgets/parts/glossary.js');
const { words } = globalThis.headlightTables;
const terms = (language, text) => new Glossary(words[language]).find(text).map(({ term, start, end }) => [term, text.slice(start, end)]);

test('every term has a definition and occurs in a phrase of the page', () => {
  for (const language of Object.keys(words)) {
    const glossary = new Glossary(words[language]);
    const entries = Object.entries(words[language]).filter(([key]) => !key.startsWith('term_'));
    const terms = new Set(entries.flatMap(([, phrase]) => glossary.matches(phrase)).map(({ term }) => term));
    for (const term of TERMS) {
      assert.ok(words[language][`term_${term}_says`].length > 8, term);
      if (!['embedding', 'stream', 'norm', 'logits', 'softmax', 'start'].includes(term)) assert.ok(terms.has(term), `${language} ${term}`);
    }
  }
});

test('terms are found as whole words in phrases of the page', () => {
  assert.deepEqual(terms('en', words.en.wall_says), [
    ['layer', 'layers'],
    ['head', 'heads'],
  ]);
  assert.deepEqual(terms('zh', words.zh.wall_says), [
    ['layer', '层'],
    ['head', '头'],
  ]);
  const glossary = new Glossary(words.en);
  assert.deepEqual(glossary.matches('Headlight, overhead and heads-up'), []);
  assert.deepEqual(new Glossary(words.zh).matches('从头到尾，结束'), []);
});

test('text that is not a phrase has no terms, and neither have inserted values', () => {
  assert.deepEqual(terms('en', 'My head is a token of attention.'), []);
  const probe = new Glossary({ ...words.en, probe: 'The word {word} is masked.' });
  assert.deepEqual(
    probe.find('The word head is masked.').map(({ term }) => term),
    ['masked'],
  );
  const sum = words.en.meta_cached.replace('{device}', 'layer').replace('{read}', '3').replace('{written}', '4');
  assert.deepEqual(terms('en', sum), [['token', 'tokens']]);
});

test('a single word is not treated as a phrase, because visitors type it, too', () => {
  const typed = {
    en: ['head', 'Head', 'token', ' tokens', 'layer 3', 'attention', 'my head hurts'],
    zh: ['头', '层', '词元', '第 3 层', '3 个词元'],
  };
  for (const [language, texts] of Object.entries(typed)) for (const text of texts) assert.deepEqual(terms(language, text), [], text);
  const short = new Glossary({ ...words.en, one: '{count} tokens', two: 'in {count} layers' });
  for (const text of [' tokens', '3 tokens', 'in a few layers']) assert.deepEqual(short.find(text), []);
  const whole = new Glossary({ ...words.en, one: 'all tokens' });
  assert.deepEqual(
    whole.find('all tokens').map(({ term }) => term),
    ['token'],
  );
});

test('a phrase with elements as values is matched by its parts', () => {
  const glossary = new Glossary({ ...words.en, probe: 'Of {first} tokens the head sees {second} in {third}.' });
  assert.deepEqual(
    glossary.find('Of 3 tokens the head sees ').map(({ term }) => term),
    ['token', 'head'],
  );
  assert.deepEqual(
    glossary.find(' tokens the head sees ').map(({ term }) => term),
    ['token', 'head'],
  );
});
