// Counts of a class, by "stage.form.question.answer".

import { t } from '../core/i18n.js';
import { answerText } from './results-view.js';

/** The right answers of a question and all its answers, of both forms. */
export function countAnswers(counts, stage, item) {
  const entries = Object.entries(counts).filter(([name]) => {
    const [ofStage, , ofItem] = name.split('.');
    return ofStage === stage && ofItem === item;
  });
  const add = (list) => list.reduce((total, [, count]) => total + count, 0);
  return { right: add(entries.filter(([name]) => name.endsWith('.right'))), all: add(entries) };
}

/** Each kind of answer with its label and count. The order does not show which one is right. */
export function outcomeCounts(counts, stage, form, item, question) {
  const count = (name) => counts[`${stage}.${form}.${item}.${name}`] ?? 0;
  const known = sortOutcomes(question).map(({ name, answer }, index) => ({ name, answer, label: outcomeLabel(question, answer, index) }));
  const open = ['other', 'unknown'].map((name) => ({ name, answer: null, label: t(`quiz_outcome_${name}`) }));
  return [...known, ...open].map((outcome) => ({ ...outcome, count: count(outcome.name) }));
}

function sortOutcomes({ kind, outcomes, options }) {
  const place = {
    numbers: ({ answer }) => answer[0],
    choice: ({ answer }) => options.indexOf(answer),
    cells: ({ name }) => name.charCodeAt(0),
  }[kind];
  return [...outcomes].sort((one, other) => place(one) - place(other));
}

const outcomeLabel = (question, answer, index) =>
  question.kind === 'cells' ? t('quiz_class_drawing', { letter: String.fromCharCode(97 + index) }) : answerText(question, answer);
