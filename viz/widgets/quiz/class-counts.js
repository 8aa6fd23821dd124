// The numbers of answers of a class, by "stage.form.question.answer".

import { t } from '../core/i18n.js';
import { answerText } from './results-view.js';

/** The numbers of right answers and of all answers to a question, in both forms. */
export function countAnswers(counts, stage, item) {
  const entries = Object.entries(counts).filter(([name]) => {
    const [entryStage, , entryItem] = name.split('.');
    return entryStage === stage && entryItem === item;
  });
  const add = (list) => list.reduce((total, [, count]) => total + count, 0);
  return { right: add(entries.filter(([name]) => name.endsWith('.right'))), all: add(entries) };
}

/** Each kind of answer with its label and count. The order does not reveal the right one. */
export function outcomeCounts(counts, stage, form, item, question) {
  const count = (name) => counts[`${stage}.${form}.${item}.${name}`] ?? 0;
  const known = sortOutcomes(question).map(({ name, answer }, index) => ({ name, answer, label: outcomeLabel(question, answer, index) }));
  const otherOutcomes = ['other', 'unknown'].map((name) => ({ name, answer: null, label: t(`quiz_outcome_${name}`) }));
  return [...known, ...otherOutcomes].map((outcome) => ({ ...outcome, count: count(outcome.name) }));
}

function sortOutcomes({ kind, outcomes, options }) {
  const getRank = {
    numbers: ({ answer }) => answer[0],
    choice: ({ answer }) => options.indexOf(answer),
    cells: ({ name }) => name.charCodeAt(0),
  }[kind];
  return [...outcomes].sort((a, b) => getRank(a) - getRank(b));
}

const outcomeLabel = (question, answer, index) =>
  question.kind === 'cells' ? t('quiz_class_drawing', { letter: String.fromCharCode(97 + index) }) : answerText(question, answer);
