import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { secondName } = await import('../../viz/widgets/beside/secondmodel.js');
const model = (name, source, target) => ({ name, source, target });
const FIRST = model('first', 'de', 'en');
const BACK = model('back', 'en', 'de');
const MANY = model('many', '', '');

for (const [says, others, chosen] of [
  ['writes the same, whatever its languages are called', [model('same', 'deu_Latn', 'eng_Latn'), MANY], 'same'],
  ['at least reads the same', [BACK, model('reads', 'de', 'fr'), MANY], 'reads'],
  ['is one of many languages', [BACK, MANY], 'many'],
  ['is the first one itself, where no other reads the sentence', [BACK], 'first'],
  ['is never the toy', [model('toy', 'de', 'en'), BACK], 'first'],
]) {
  test(`the second model ${says}`, () => assert.equal(secondName({ models: [FIRST, ...others] }, { model: FIRST }), chosen));
}
