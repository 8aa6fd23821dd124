import assert from 'node:assert/strict';
import { test } from 'node:test';
import './setup.js';

const { LOOK, comparing, createStore } = await import('../../viz/widgets/core/store.js');
const { climbHead, pageHead } = await import('../../viz/widgets/headview/paging.js');
const { litWeights, marksOf, meant, together } = await import('../../viz/widgets/headview/marks.js');

test('two stores on one base share what is the base’s, and keep what is their own', () => {
  const base = createStore({ kind: 'cross', layer: 0, palette: 'headlight' });
  const [first, second] = [createStore({ layer: 1 }, base), createStore({ layer: 2 }, base)];
  const heard = [];
  second.on(['layer', 'palette'], (changed) => heard.push(changed));
  first.set({ layer: 5, palette: 'grey' });
  assert.deepEqual(
    [base, first, second].map(({ state }) => [state.layer, state.palette]),
    [
      [0, 'grey'],
      [5, 'grey'],
      [2, 'grey'],
    ],
  );
  assert.deepEqual(heard, [['palette']]);
});

test('who leaves a store hears no more of it, nor of its base', () => {
  const base = createStore({ kind: 'cross' });
  const store = createStore({ layer: 0 }, base);
  let heard = 0;
  const leave = store.on(['kind', 'layer'], () => (heard += 1));
  store.set({ layer: 1 });
  base.set({ kind: 'encoder' });
  leave();
  store.set({ layer: 2, kind: 'decoder' });
  assert.equal(heard, 2);
});

test('a pinned head is compared with every other', () => {
  const { state, set } = createStore({ ...LOOK, layer: 0, head: 1, pinned: { layer: 0, head: 1 } });
  assert.equal(comparing(state), false);
  set({ preview: { layer: 2, head: 0 } });
  assert.equal(comparing(state), true);
});

const at = (layer, head) => ({ layer, head });
const ROWS = [[at(0, 0), at(0, 1), at(0, 2)], [at(1, 0), at(1, 1), at(1, 2)], [at('mean', 'mean')]];

test('heads are leafed through in reading order, round both ends', () => {
  assert.deepEqual(pageHead(ROWS, at(0, 2), 1), at(1, 0));
  assert.deepEqual(pageHead(ROWS, at(0, 0), -1), at('mean', 'mean'));
  assert.deepEqual(pageHead(ROWS, at('mean', 'mean'), 1), at(0, 0));
});

test('up and down keep the place in the row, or the end of a shorter one', () => {
  assert.deepEqual(climbHead(ROWS, at(0, 2), 1), at(1, 2));
  assert.deepEqual(climbHead(ROWS, at(1, 2), 1), at('mean', 'mean'));
  assert.deepEqual(climbHead(ROWS, at(0, 1), -1), at('mean', 'mean'));
});

const VIEW = { rows: [{}, {}], columns: [{}, {}, {}], weights: Float32Array.of(0.5, 0.25, 0.25, 0.25, 0.75, NaN) };

test('on each axis the pointer counts before a pin', () => {
  const now = meant(marksOf({ row: 0, column: 2, hoverRow: 1, hoverColumn: null }));
  assert.deepEqual(now, { rows: [1], columns: [2] });
  assert.deepEqual(meant(marksOf(LOOK)), { rows: null, columns: null });
});

test('rows that are meant together are averaged, columns are summed, and what is masked stays so', () => {
  assert.deepEqual([...litWeights(VIEW, { rows: [0, 1], columns: null }).columns], [0.375, 0.5, 0.125]);
  assert.deepEqual([...litWeights(VIEW, { rows: null, columns: [0, 1] }).rows], [0.75, 1]);
  assert.ok(Number.isNaN(together(VIEW, [1], [2])));
});
