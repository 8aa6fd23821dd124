// Marks an answer: the name of the outcome that it matches, "other" or "unknown".

import { readSum, isNear } from '../build/sums.js';

export const UNKNOWN = 'unknown';

/** @param {any} question @param {any} given texts of numbers, the text of an option, or cells; null: the question was left open */
export function mark(question, given) {
  if (given === null) return UNKNOWN;
  const outcome = question.outcomes.find(({ answer }) => MATCHES[question.kind](answer, given));
  return outcome ? outcome.name : 'other';
}

const MATCHES = {
  numbers: (answer, given) => answer.every((number, index) => isNear(readSum(given[index]), number)),
  choice: (answer, given) => answer === given,
  cells: (answer, given) => answer.length === given.length && answer.every(([row, column]) => hasCell(given, row, column)),
};

export const hasCell = (cells, row, column) => cells.some((cell) => cell[0] === row && cell[1] === column);

/** Whether something was entered for every part of the question. */
export function isComplete(question, given) {
  if (!given) return false;
  if (question.kind === 'numbers') return given.every((text) => text.trim());
  if (question.kind === 'choice') return Boolean(given);
  return question.one_per_row ? question.rows.every((_, row) => given.some((cell) => cell[0] === row)) : given.length > 0;
}

/** The first typed text that is no number, or undefined. */
export const unreadable = (question, given) =>
  question.kind === 'numbers' ? given.find((text) => Number.isNaN(readSum(text))) : undefined;
