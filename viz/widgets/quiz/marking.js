// Marks an answer with the name of the outcome that it matches, "other" or "unknown".

import { readSum, isNear } from '../parts/sums.js';

export const UNKNOWN = 'unknown';

/** @param {any} question @param {any} entry texts of numbers, the text of an option, or cells; null if the reader chose "I do not know" */
export function mark(question, entry) {
  if (entry === null) return UNKNOWN;
  const outcome = question.outcomes.find(({ answer }) => MATCHES[question.kind](answer, entry));
  return outcome ? outcome.name : 'other';
}

const MATCHES = {
  numbers: (answer, entry) => answer.every((number, index) => isNear(readSum(entry[index]), number)),
  choice: (answer, entry) => answer === entry,
  cells: (answer, entry) => answer.length === entry.length && answer.every(([row, column]) => hasCell(entry, row, column)),
};

export const hasCell = (cells, row, column) => cells.some((cell) => cell[0] === row && cell[1] === column);

/** Whether the entry has a value for every part of the question. */
export function isComplete(question, entry) {
  if (!entry) return false;
  if (question.kind === 'numbers') return entry.every((text) => text.trim());
  if (question.kind === 'choice') return Boolean(entry);
  return question.one_per_row ? question.rows.every((_, row) => entry.some((cell) => cell[0] === row)) : entry.length > 0;
}

/** The first typed text that is not a number, or undefined. */
export const findUnreadable = (question, entry) =>
  question.kind === 'numbers' ? entry.find((text) => Number.isNaN(readSum(text))) : undefined;
