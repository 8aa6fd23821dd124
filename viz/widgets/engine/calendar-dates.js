// Months and short dates in a text, as numbers: the rules of `model/text/calendar_dates.py`.

import { compileAll } from './patterns.js';
import { tables } from './tables.js';

const { months, ambiguous, han_months: hanMonths, patterns } = tables.dates;
const BEFORE = compileAll(tables.dates.before);
const NAMES = compileAll(tables.dates.names, 'g');
const { short_names: SHORT_NAMES, han_month: HAN_MONTH, short_date: SHORT_DATE } = compileAll(patterns, 'g');
const DAY_AFTER = compileAll(patterns, 'y').day_after;
/** Names of the months, in order, each with its alternatives. */
const MONTHS = new Map(
  Object.entries(months).map(([language, names]) => [
    language,
    names
      .toLowerCase()
      .split(' ')
      .map((name) => name.split('|')),
  ]),
);

/** @typedef {{ value: number, start: number, end: number, sure: boolean }} DatePart */

const isBetween = (number, low, high) => low <= number && number <= high;

/**
 * The months of a text, and the days and years that are written in digits with a month.
 * @returns {DatePart[]}
 */
export function dateParts(/** @type {string} */ text, language) {
  const parts = [...text.matchAll(SHORT_DATE)].flatMap((match) => shortDate(match, language));
  if (language === 'zh') {
    const months = [...text.matchAll(HAN_MONTH)].map((match) => {
      const { digits } = /** @type {any} */ (match.groups);
      const value = /^\d+$/.test(digits) ? Number(digits) : hanMonths.indexOf(digits) + 1;
      return { value, start: match.index, end: match.index + match[0].length, sure: true };
    });
    return [...parts, ...months];
  }
  return MONTHS.has(language) ? [...parts, ...monthNames(text, language)] : parts;
}

/** @returns {DatePart[]} */
function shortDate(match, language) {
  const [date, day, month, year] = match;
  // Without a year, "3.11." is a decimal at the end of a sentence in other languages.
  if (!isBetween(Number(day), 1, 31) || !isBetween(Number(month), 1, 12) || !(year || language === 'de')) return [];
  const start = match.index;
  const monthStart = start + date.indexOf(month, day.length);
  const parts = [
    { value: Number(day), start, end: start + day.length, sure: true },
    { value: Number(month), start: monthStart, end: monthStart + month.length, sure: true },
  ];
  if (!year) return parts;
  const end = start + date.length;
  const isShort = year.length === 2;
  return [...parts, { value: Number(year) + (isShort ? 2000 : 0), start: end - year.length, end, sure: !isShort }];
}

/** @returns {DatePart[]} */
function monthNames(text, language) {
  const names = MONTHS.get(language) ?? [];
  const results = [...text.matchAll(NAMES[language])].flatMap((match) => {
    const [word] = match;
    const [start, end] = [match.index, match.index + word.length];
    const lower = word.toLowerCase();
    const value = names.findIndex((alternatives) => alternatives.includes(lower)) + 1;
    let sure = language !== 'fr' || word === lower; // "Mars" is a planet, "Avril" a first name
    if ((ambiguous[language] ?? []).includes(lower)) {
      DAY_AFTER.lastIndex = 0;
      sure = BEFORE[language].test(text.slice(0, start)) || DAY_AFTER.test(text.slice(end));
      if (!sure && word === lower) return []; // "may", "march"
    }
    return [{ value, start, end, sure }];
  });
  if (language !== 'en') return results;
  const beginnings = names.map(([name]) => name.slice(0, 3));
  const short = [...text.matchAll(SHORT_NAMES)].map(({ index: start, 1: name }) => {
    return { value: beginnings.indexOf(name.slice(0, 3).toLowerCase()) + 1, start, end: start + name.length, sure: false };
  });
  return [...results, ...short];
}
