import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { makeExercises } = await import('../../viz/widgets/heads/worksheet-questions.js');

const item = (label, read = null) => ({ label, special: false, read });
const rows = [item('I', { label: '<s>' }), item('saw', { label: 'I' }), item('dogs', { label: 'saw' })];

test('a worksheet asks to read the map and to calculate with its numbers', () => {
  const weights = Float32Array.of(1, 0, 0, 0.604, 0.296, 0.1, 0.02, 0.03, 0.95);
  const columns = [item('ich'), item('sah'), item('Hunde')];
  const exercises = makeExercises({ kind: 'cross', rows, columns, weights }, false);
  const byKind = Object.fromEntries(exercises.map((exercise) => [exercise.kind, exercise]));
  assert.deepEqual(new Set(Object.keys(byKind)), new Set(['asks', 'asks_rest', 'asks_scores']));
  assert.deepEqual(byKind.asks_rest.values, { row: 'I → saw', first: 'ich', second: 'sah', a: '0.60', b: '0.30' });
  assert.equal(byKind.asks_rest.answer, '0.10'); // from the printed numbers: 1 − 0.60 − 0.30
  assert.equal(byKind.asks_scores.answer, '0.69'); // ln 2
  assert.ok(byKind.asks_rest.needsSpace && byKind.asks_scores.needsSpace && !byKind.asks.needsSpace);
});

test('the decoder asks for the border of its mask', () => {
  const weights = Float32Array.of(1, NaN, NaN, 0.5, 0.5, NaN, 0.2, 0.2, 0.6);
  const exercises = makeExercises({ kind: 'decoder', rows, columns: [item('<s>'), item('I'), item('saw')], weights }, false);
  const mask = exercises.find(({ kind }) => kind === 'asks_mask');
  assert.equal(mask.values.row, 'saw → dogs');
  assert.equal(mask.answer, '3 + 0 = 3');
});
