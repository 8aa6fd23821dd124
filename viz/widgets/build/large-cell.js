// A part's operation in the visitor's model, as rows of numbers: the inputs and the result.

import { resolveSelection } from '../lessons/lesson-link.js';
import { StepScene } from '../lessons/step-scene.js';
import { rowNumbers, softmax, sum } from '../lessons/tensor-cache.js';
import { formatNumber } from '../parts/sums.js';

const VALUE_COLUMN = 0; // the column of the values that is shown

/** For each part the kind of attention and the tensors that it needs. Parts not listed only link to their step. */
const TENSORS = {
  qkv: ['encoder', 'queries', 'keys', 'values'],
  scores: ['encoder', 'queries', 'keys'],
  scale: ['encoder', 'queries', 'keys'],
  softmax: ['encoder', 'scores'],
  mix: ['encoder', 'scores', 'values'],
  cross: ['cross', 'scores'],
  next: ['cross', 'logits'],
};

export const hasLargeCell = (part) => part in TENSORS;

/** The scene of a part: a step of the lessons with this part's tensors. `selection`: the indices of the query and the key. */
export function largeScene(part, translation, tensors, selection) {
  const [kind, ...names] = TENSORS[part];
  const step = { kind, figures: [{ tensors: names.map((path) => ({ path })) }], picks: ['head'], lesson: '' };
  return new StepScene(step, translation, resolveSelection(translation, selection), tensors);
}

/**
 * @typedef {{ columns: string[], rows: [string, number[]][], result: number | null, divisor?: number }} LargeCell
 *   `rows`: names and numbers; `result`: the sum of the last row, if the part adds it up
 */

/** The numbers of a part in a loaded scene. @returns {LargeCell} */
export function largeCell(part, scene) {
  return CELLS[part](scene);
}

const indices = (count) => Array.from({ length: count }, (_, index) => String(index + 1));
const keyLabels = (scene) => scene.columns.map(({ label }) => label);
const readRow = (scene, name, row) => Array.from(rowNumbers(scene.tensorByName(name), row));

const CELLS = {
  qkv: (scene) => {
    const rows = ['queries', 'keys', 'values'].map((name) => [name[0], readRow(scene, name, scene.row)]);
    return { columns: indices(rows[0][1].length), rows, result: null };
  },
  scores: (scene) => {
    const [query, key] = [readRow(scene, 'queries', scene.row), readRow(scene, 'keys', scene.key)];
    const products = query.map((number, index) => number * key[index]);
    return {
      columns: indices(query.length),
      rows: [
        ['q', query],
        ['k', key],
        ['q × k', products],
      ],
      result: sum(products),
    };
  },
  scale: (scene) => {
    const raw = readRow(scene, 'raw', scene.row);
    const divisor = scene.number('divisor');
    const rows = [
      ['q · k', raw],
      [`÷ ${formatNumber(divisor)}`, raw.map((number) => number / divisor)],
    ];
    return { columns: keyLabels(scene), rows, result: null, divisor };
  },
  softmax: (scene) => {
    const scores = readRow(scene, 'scores', scene.row);
    const weights = softmax(scores, scene.allowed(scene.row));
    return {
      columns: keyLabels(scene),
      rows: [
        ['s', scores],
        ['eˢ', scores.map(Math.exp)],
        ['softmax', weights],
      ],
      result: null,
    };
  },
  mix: (scene) => {
    const weights = softmax(readRow(scene, 'scores', scene.row), scene.allowed(scene.row));
    const values = weights.map((_, key) => readRow(scene, 'values', key)[VALUE_COLUMN]);
    const products = weights.map((weight, index) => weight * values[index]);
    return {
      columns: keyLabels(scene),
      rows: [
        ['a', weights],
        ['v', values],
        ['a × v', products],
      ],
      result: sum(products),
    };
  },
  cross: (scene) => {
    const weights = softmax(readRow(scene, 'scores', scene.row), scene.allowed(scene.row));
    return { columns: keyLabels(scene), rows: [['softmax', weights]], result: null };
  },
  next: (scene) => {
    const { best, log_sum: logSum } = scene.logits;
    const logits = best.map(([, , logit]) => logit);
    return {
      columns: best.map(([label]) => label),
      rows: [
        ['logit', logits],
        ['p', logits.map((logit) => Math.exp(logit - logSum))],
      ],
      result: null,
    };
  },
};
