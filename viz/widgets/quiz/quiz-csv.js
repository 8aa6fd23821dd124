// CSV files: the answers of one browser, which `python -m workshop.learning_analysis` reads, and the counts of a class.

import { STAGES } from './quiz-progress.js';

const csv = (rows) => rows.map((row) => `${row.map(String).join(',')}\r\n`).join('');

/** One row: the class as the group, the first form, the scores (empty until a stage is done) and all outcomes. */
export function answersCsv(progress, { items }) {
  const scores = STAGES.map((stage) => (progress.isDone(stage) ? progress.countRight(stage) : ''));
  const outcomes = STAGES.flatMap((stage) => items.map((item) => progress.answers(stage)[item]?.outcome ?? ''));
  const names = STAGES.flatMap((stage) => items.map((item) => `${stage}_${item}`));
  const { code, forms } = progress.values;
  return csv([
    ['group', 'first_form', ...STAGES, ...names],
    [code, forms.slice(0, 1), ...scores, ...outcomes],
  ]);
}

/** One row per kind of answer, for example "before.A.dot.right" with its count. */
export const countsCsv = (counts) =>
  csv([['stage', 'form', 'question', 'answer', 'count'], ...Object.entries(counts).map(([name, count]) => [...name.split('.'), count])]);
