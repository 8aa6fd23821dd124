// Names in the pictures of an experiment: phrases of the lesson, or a plain text, which stands as it is.

import { hasPhrase, t } from '../core/i18n.js';

/** @typedef {string | { say: string, values: Record<string, any> }} Label */

/** A label as text. @param {Label} label */
export function labelText(lesson, label) {
  if (typeof label === 'string') return label;
  const values = Object.fromEntries(Object.entries(label.values ?? {}).map(([name, value]) => [name, labelText(lesson, value)]));
  const own = `lesson_${lesson}_say_${label.say}`;
  return t(hasPhrase(own) ? own : label.say, values);
}

/** The numbers of an experiment as its words and its formula take them. */
export const numberTexts = (lesson, numbers) =>
  Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, labelText(lesson, value)]));
