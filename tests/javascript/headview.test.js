import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered } from './setup.js';

const { VIEW_STATE, isComparing, createStore } = await import('../../viz/widgets/core/store.js');
const { headBelow, nextHead } = await import('../../viz/widgets/headview/head-navigation.js');
const { Translation } = await import('../../viz/widgets/core/translation.js');
const { formatCertain, errorBound, view } = await import('../../viz/widgets/core/map-view.js');
const { highlightWeights, getHighlight, effectiveHighlight, combinedWeights } = await import('../../viz/widgets/headview/highlights.js');

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
  const { state, set } = createStore({ ...VIEW_STATE, layer: 0, head: 1, pinned: { layer: 0, head: 1 } });
  assert.equal(isComparing(state), false);
  set({ preview: { layer: 2, head: 0 } });
  assert.equal(isComparing(state), true);
});

const at = (layer, head) => ({ layer, head });
const ROWS = [[at(0, 0), at(0, 1), at(0, 2)], [at(1, 0), at(1, 1), at(1, 2)], [at('mean', 'mean')]];

test('heads are leafed through in reading order, round both ends', () => {
  assert.deepEqual(nextHead(ROWS, at(0, 2), 1), at(1, 0));
  assert.deepEqual(nextHead(ROWS, at(0, 0), -1), at('mean', 'mean'));
  assert.deepEqual(nextHead(ROWS, at('mean', 'mean'), 1), at(0, 0));
});

test('up and down keep the place in the row, or the end of a shorter one', () => {
  assert.deepEqual(headBelow(ROWS, at(0, 2), 1), at(1, 2));
  assert.deepEqual(headBelow(ROWS, at(1, 2), 1), at('mean', 'mean'));
  assert.deepEqual(headBelow(ROWS, at(0, 1), -1), at('mean', 'mean'));
});

const VIEW = { rows: [{}, {}], columns: [{}, {}, {}], weights: Float32Array.of(0.5, 0.25, 0.25, 0.25, 0.75, NaN) };

test('on each axis the pointer counts before a pin', () => {
  const now = effectiveHighlight(getHighlight({ row: 0, column: 2, hoverRow: 1, hoverColumn: null }));
  assert.deepEqual(now, { rows: [1], columns: [2] });
  assert.deepEqual(effectiveHighlight(getHighlight(VIEW_STATE)), { rows: null, columns: null });
});

test('rows that are meant together are averaged, columns are summed, and what is masked stays so', () => {
  assert.deepEqual([...highlightWeights(VIEW, { rows: [0, 1], columns: null }).columns], [0.375, 0.5, 0.125]);
  assert.deepEqual([...highlightWeights(VIEW, { rows: null, columns: [0, 1] }).rows], [0.75, 1]);
  assert.ok(Number.isNaN(combinedWeights(VIEW, [1], [2])));
});

/** Rows that sum to one, the same in every run. */
function chances(rows, columns, seed) {
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

test('every decimal that is shown of words, means and rescaled rows is the one of the exact weights', () => {
  const sources = ['ei', 'nen', 'Wal', 'fisch', '.', '</s>'];
  const targets = ['a', 'wh', 'ale', '.', '</s>'];
  const maps = [11, 23, 47, 91].map((seed) => chances(targets.length, sources.length, seed));
  const sent = answered({ sources, targets, maps, layers: 2 });
  for (const [place, word] of [0, 0, 1, 1, 2].entries()) sent.source[place].word = word;
  for (const [place, word] of [0, 1, 1, 2].entries()) sent.target[place].word = word;
  const translation = new Translation(sent);
  let shown = 0;
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
        const seen = view(translation, 'cross', layer, head, { words, special, rescale });
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
        for (const [row, item] of seen.rows.entries()) {
          for (const [column, other] of seen.columns.entries()) {
            const whole = rescale && head !== 'max' ? sum(item, seen.columns) : 1;
            const truth = sum(item, [other]) / whole;
            const weight = seen.weights[row * seen.columns.length + column];
            const text = formatCertain(weight, errorBound(seen, weight, [row], [column]));
            assert.equal(text, truth.toFixed(text.length - 2), JSON.stringify({ words, special, rescale, layer, head, row, column }));
            shown += text.length - 2;
            if (!words && special && typeof layer === 'number' && (typeof head === 'number' || head === 'max'))
              assert.equal(text.length, 6);
          }
        }
      }
    }
  }
  assert.ok(shown > 2.5 * 600, 'most numbers keep three decimals or four');
});

test('what is uncertain has no more decimals than agree at both of its ends', () => {
  assert.equal(formatCertain(0.123456), '0.1235');
  assert.equal(formatCertain(0.12345, 5e-5), '0.123');
  assert.equal(formatCertain(0.12348, 1e-5), '0.1235');
  assert.equal(formatCertain(0.12352, 5e-5), '0.12');
  assert.equal(formatCertain(0.00001, 5e-5), '0.000');
});
