import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { answered, encodeWeight } from './setup.js';

const { readSavedAnswer } = await import('../../viz/widgets/core/saved-answer.js');
const { Translation } = await import('../../viz/widgets/core/translation.js');
const { listMeasures } = await import('../../viz/widgets/parts/measures.js');
const { defaultHead } = await import('../../viz/widgets/core/default-head.js');

const OPTIONS = { beam_size: 4, back_weight: 0.3 };
const maps = [
  [
    [1, 0],
    [0, 1],
  ],
];
const today = answered({ sources: ['ein', 'Haus'], targets: ['a', 'house'], maps });
// As saved by the first pages: without a version, with "usual" for "default", without measures.
const old = { ...today, what: 'answer', model: { ...today.model, usual: OPTIONS, usual_source: 'deu_Latn', usual_target: '' } };

test('an answer of an old saved page is converted to the current format', () => {
  const answer = readSavedAnswer(structuredClone(old));
  assert.deepEqual(answer.model.defaults, OPTIONS);
  assert.deepEqual([answer.model.default_source, answer.model.default_target], ['deu_Latn', '']);
  assert.deepEqual(
    Object.keys(answer.model).filter((name) => name.startsWith('usual')),
    [],
  );
  const translation = new Translation(answer);
  assert.deepEqual(translation.model.defaults, OPTIONS);
  assert.deepEqual(listMeasures(translation, 'cross'), [[{}]]);
  assert.deepEqual(defaultHead(translation), { layer: 0, head: 0 });
  assert.deepEqual([...translation.map('cross', 0, 0).weights], [1, 0, 0, 1]);
});

test('measures and selection of an old page are preserved', () => {
  const saved = { measures: { cross: { peak: ['share', 1, encodeWeight(0.5)] } }, opening: { layer: 0, head: 0, row: 1 }, late: [[0, 0]] };
  const { measures, opening, late } = readSavedAnswer({ ...structuredClone(old), ...saved });
  assert.deepEqual({ measures, opening, late }, saved);
});

test('a current answer is unchanged, and an older one gets all fields', () => {
  const code = `
import json
from headlight.viz.service.first_answer import FIRST_ANSWER_FILE
print(json.loads(FIRST_ANSWER_FILE.read_text(encoding="utf-8"))["answer"])
`;
  const sent = JSON.parse(execFileSync(process.env.PYTHON ?? 'python3', ['-c', code], { encoding: 'utf8' }));
  assert.equal(readSavedAnswer(sent), sent);
  const { version, measures, ...fields } = sent;
  const { defaults, default_source, default_target, left_out, python_defaults, ...model } = sent.model;
  const before = { ...fields, model: { ...model, usual: defaults, usual_source: default_source, usual_target: default_target } };
  const answer = readSavedAnswer(before);
  assert.equal(answer.version, version);
  assert.deepEqual(answer.model, sent.model);
  assert.deepEqual(Object.keys(answer).sort(), Object.keys(sent).sort());
});
