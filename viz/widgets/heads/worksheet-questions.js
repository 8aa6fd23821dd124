// Questions of the worksheet. Pupils answer them from the printed map or from quoted numbers, so the answer key is computed
// from the same rounded numbers.

import { isWord } from '../core/default-head.js';
import { argMax, getRowWeights, twoDecimals } from '../core/map-view.js';
import { rowText } from '../parts/row-name.js';

export const MAX_WORDS = 32; // words per side that fit on paper
const MIN_MARGIN = 0.3; // lead of a row's strongest weight that is visible in print
const MIN_QUOTED = 0.05; // smallest weight that a calculation quotes
const MAX_READING_QUESTIONS = 3; // questions per map that are answered by reading it

/** @typedef {{ kind: string, values: Record<string, string>, answer: string, needsSpace?: boolean }} Exercise `needsSpace`: whether it needs space to calculate */

/**
 * The first rows of a map whose strongest word is clearly visible: `{query, key, weight}`. For a shifted head
 * (`late`), the query is the word of the row above.
 */
export function findClearRows({ rows, columns, weights }, late = false) {
  const exercises = rows.slice(0, MAX_WORDS).map((query, row) => {
    const rowWeights = roundRow({ weights, columns }, row);
    const strongest = argMax(rowWeights);
    const second = Math.max(0, ...rowWeights.filter((_, column) => column !== strongest));
    const queryToken = rows[row - Number(late)];
    const isUseful =
      isWord(query) &&
      queryToken &&
      isWord(queryToken) &&
      columns[strongest] &&
      isWord(columns[strongest]) &&
      rowWeights[strongest] - second >= MIN_MARGIN;
    return isUseful ? { query: queryToken.label, late, key: columns[strongest].label, weight: rowWeights[strongest] } : null;
  });
  return exercises.filter(Boolean).slice(0, MAX_READING_QUESTIONS);
}

const roundRow = ({ weights, columns }, row) =>
  [...getRowWeights({ weights, columns }, row)].slice(0, MAX_WORDS).map((weight) => weight || 0);

/** All exercises of a map: reading it, and calculating with the numbers of one row. @returns {Exercise[]} */
export function makeExercises(map, late) {
  const reading = findClearRows(map, late).map(({ query, key, weight }) => ({
    kind: late ? 'asks_late' : 'asks',
    values: { word: query },
    answer: `${key} ${twoDecimals(weight)}`,
  }));
  return [...reading, ...makeCalculations(map)];
}

/** Exercises to calculate: the remaining weight of a row, the difference of two scores and, in the decoder, the number of visible words. */
function makeCalculations(map) {
  const candidates = map.rows.slice(0, MAX_WORDS).map((item, row) => ({ item, row, best: findTwoLargest(roundRow(map, row)) }));
  const exerciseRow = candidates.find(
    ({ item, best: [first, second] }) => isWord(item) && first.weight < 0.95 && second?.weight >= MIN_QUOTED,
  );
  const countRow = map.kind === 'decoder' ? candidates.find(({ item, row }) => row > 1 && isWord(item)) : null;
  return [...(exerciseRow ? makeRowExercises(map, exerciseRow) : []), ...(countRow ? [makeCountExercise(map, countRow)] : [])];
}

function makeRowExercises({ columns }, { item, best: [first, second] }) {
  const [a, b] = [first.weight, second.weight].map(roundWeight);
  const values = {
    row: rowText(item),
    first: columns[first.column].label,
    second: columns[second.column].label,
    a: twoDecimals(a),
    b: twoDecimals(b),
  };
  return [
    { kind: 'asks_rest', values, answer: twoDecimals(1 - a - b), needsSpace: true },
    { kind: 'asks_scores', values, answer: twoDecimals(Math.log(a / b)), needsSpace: true },
  ];
}

const makeCountExercise = ({ rows }, { item, row }) => ({
  kind: 'asks_mask',
  values: { row: rowText(item) },
  answer: `${row + 1} + ${rows.length - row - 1} = ${rows.length}`,
  needsSpace: true,
});

const roundWeight = (weight) => Math.round(weight * 100) / 100;

function findTwoLargest(weights) {
  const sortedWeights = weights.map((weight, column) => ({ weight, column })).sort((a, b) => b.weight - a.weight);
  return sortedWeights.slice(0, 2);
}
