import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered } from './setup.js';

const { VIEW_STATE, isComparing, createStore } = await import('../../viz/widgets/core/store.js');
const { findHeadBelow, nextHead } = await import('../../viz/widgets/headview/head-navigation.js');
const { Translation } = await import('../../viz/widgets/core/translation.js');
const { formatCertain, computeErrorBound, view } = await import('../../viz/widgets/core/map-view.js');
const { getHighlightWeights, getHighlight, mergeHighlight, combineWeights } = await import('../../viz/widgets/headview/highlights.js');

test('two stores on one base share its values and keep their own', () => {
  const base = createStore({ kind: 'cross', layer: 0, palette: 'headlight' });
  const [first, second] = [createStore({ layer: 1 }, base), createStore({ layer: 2 }, base)];
  const calls = [];
  second.on(['layer', 'palette'], (changed) => calls.push(changed));
  first.set({ layer: 5, palette: 'grey' });
  assert.deepEqual(
    [base, first, second].map(({ state }) => [state.layer, state.palette]),
    [
      [0, 'grey'],
      [5, 'grey'],
      [2, 'grey'],
    ],
  );
  assert.deepEqual(calls, [['palette']]);
});

test('an unsubscribed listener is not called for the store or its base', () => {
  const base = createStore({ kind: 'cross' });
  const store = createStore({ layer: 0 }, base);
  let calls = 0;
  const unsubscribe = store.on(['kind', 'layer'], () => (calls += 1));
  store.set({ layer: 1 });
  base.set({ kind: 'encoder' });
  unsubscribe();
  store.set({ layer: 2, kind: 'decoder' });
  assert.equal(calls, 2);
});

test('a pinned head is compared with every other head', () => {
  const { state, set } = createStore({ ...VIEW_STATE, layer: 0, head: 1, pinned: { layer: 0, head: 1 } });
  assert.equal(isComparing(state), false);
  set({ preview: { layer: 2, head: 0 } });
  assert.equal(isComparing(state), true);
});

const at = (layer, head) => ({ layer, head });
const ROWS = [[at(0, 0), at(0, 1), at(0, 2)], [at(1, 0), at(1, 1), at(1, 2)], [at('mean', 'mean')]];

test('next and previous head follow reading order and wrap around', () => {
  assert.deepEqual(nextHead(ROWS, at(0, 2), 1), at(1, 0));
  assert.deepEqual(nextHead(ROWS, at(0, 0), -1), at('mean', 'mean'));
  assert.deepEqual(nextHead(ROWS, at('mean', 'mean'), 1), at(0, 0));
});

test('up and down keep the column, or the last one of a shorter row', () => {
  assert.deepEqual(findHeadBelow(ROWS, at(0, 2), 1), at(1, 2));
  assert.deepEqual(findHeadBelow(ROWS, at(1, 2), 1), at('mean', 'mean'));
  assert.deepEqual(findHeadBelow(ROWS, at(0, 1), -1), at('mean', 'mean'));
});

const VIEW = { rows: [{}, {}], columns: [{}, {}, {}], weights: Float32Array.of(0.5, 0.25, 0.25, 0.25, 0.75, NaN) };

test('on each axis, hover takes precedence over a pin', () => {
  const highlight = mergeHighlight(getHighlight({ row: 0, column: 2, hoverRow: 1, hoverColumn: null }));
  assert.deepEqual(highlight, { rows: [1], columns: [2] });
  assert.deepEqual(mergeHighlight(getHighlight(VIEW_STATE)), { rows: null, columns: null });
});

test('highlighted rows are averaged, columns are summed, and masked cells stay masked', () => {
  assert.deepEqual([...getHighlightWeights(VIEW, { rows: [0, 1], columns: null }).columns], [0.375, 0.5, 0.125]);
  assert.deepEqual([...getHighlightWeights(VIEW, { rows: null, columns: [0, 1] }).rows], [0.75, 1]);
  assert.ok(Number.isNaN(combineWeights(VIEW, [1], [2])));
});

/** Reproducible random rows that sum to one. */
function randomRows(rows, columns, seed) {
  let state = seed;
  const next = () => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return state / 2 ** 31;
  };
  return Array.from({ length: rows }, () => {
    const row = Array.from({ length: columns }, () => next() ** 4);
    const sum = row.reduce((all, each) => all + each, 0);
    return row.map((each) => each / sum);
  });
}

test('every displayed decimal of words, means and normalised rows is exact', () => {
  const sources = ['ei', 'nen', 'Wal', 'fisch', '.', '</s>'];
  const targets = ['a', 'wh', 'ale', '.', '</s>'];
  const maps = [11, 23, 47, 91].map((seed) => randomRows(targets.length, sources.length, seed));
  const sent = answered({ sources, targets, maps, layers: 2 });
  for (const [place, word] of [0, 0, 1, 1, 2].entries()) sent.source[place].word = word;
  for (const [place, word] of [0, 1, 1, 2].entries()) sent.target[place].word = word;
  const translation = new Translation(sent);
  let decimalCount = 0;
  for (const words of [false, true]) {
    for (const [special, rescale] of [
      [true, false],
      [false, false],
      [false, true],
    ]) {
      for (const [layer, head] of [
        [0, 0],
        [1, 1],
        [0, 'mean'],
        ['mean', 'mean'],
        ['mean', 'max'],
        [1, 'max'],
      ]) {
        const currentView = view(translation, 'cross', layer, head, { words, special, rescale });
        const heads = maps.filter(
          (_, place) => layer === 'mean' || (layer === Math.floor(place / 2) && (typeof head !== 'number' || head === place % 2)),
        );
        const exact = (row, column) => {
          const each = heads.map((map) => map[row][column]);
          return head === 'max' ? Math.max(...each) : each.reduce((all, one) => all + one, 0) / each.length;
        };
        const sum = (item, items) => {
          let all = 0;
          for (const row of item.places) for (const other of items) for (const column of other.places) all += exact(row, column);
          return all / item.places.length;
        };
        for (const [row, item] of currentView.rows.entries()) {
          for (const [column, other] of currentView.columns.entries()) {
            const rowSum = rescale && head !== 'max' ? sum(item, currentView.columns) : 1;
            const exactValue = sum(item, [other]) / rowSum;
            const weight = currentView.weights[row * currentView.columns.length + column];
            const text = formatCertain(weight, computeErrorBound(currentView, weight, [row], [column]));
            assert.equal(text, exactValue.toFixed(text.length - 2), JSON.stringify({ words, special, rescale, layer, head, row, column }));
            decimalCount += text.length - 2;
            if (!words && special && typeof layer === 'number' && (typeof head === 'number' || head === 'max'))
              assert.equal(text.length, 6);
          }
        }
      }
    }
  }
  assert.ok(decimalCount > 2.5 * 600, 'most numbers keep three decimals or four');
});

test('an uncertain value has only decimals that agree at both bounds', () => {
  assert.equal(formatCertain(0.123456), '0.1235');
  assert.equal(formatCertain(0.12345, 5e-5), '0.123');
  assert.equal(formatCertain(0.12348, 1e-5), '0.1235');
  assert.equal(formatCertain(0.12352, 5e-5), '0.12');
  assert.equal(formatCertain(0.00001, 5e-5), '0.000');
  assert.equal(formatCertain(0.449, 0.03), '0.4');
});
