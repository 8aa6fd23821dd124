// Labels in the figures of an experiment: phrases of the lesson, or plain text.

import { hasPhrase, t } from '../core/i18n.js';

/** @typedef {string | { say: string, values: Record<string, any> }} Label */

/** Resolve a label to text. @param {Label} label */
export function labelText(lesson, label) {
  if (typeof label === 'string') return label;
  const values = Object.fromEntries(Object.entries(label.values ?? {}).map(([name, value]) => [name, labelText(lesson, value)]));
  const lessonKey = `lesson_${lesson}_say_${label.say}`;
  return t(hasPhrase(lessonKey) ? lessonKey : label.say, values);
}

/** Formats the numbers of an experiment for its phrases and its formula. */
export const numberTexts = (lesson, numbers) =>
  Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, labelText(lesson, value)]));
