// Clock times in a text, in minutes of half a day: the rules of `model/text/clock_times.py`.

import { UNSURE, hanValue, wordValue } from './number-words.js';
import { compile, compileAll, namedGroups } from './patterns.js';
import { tables } from './tables.js';

const { spoken, quarters, times_of_day: timesOfDay } = tables.clock;
/** Minutes after which times repeat. @type {number} */
export const HALF_DAY = tables.clock.half_day;
const CLOCK = compileAll(tables.clock.patterns, 'g');
const NOT_AT_ALL = compile(tables.clock.not_at_all, 'y');
const QUARTERS = new Map(Object.entries(quarters));

/**
 * All times of day in a text, with positions.
 * @returns {{ value: number, start: number, end: number, sure: boolean }[]}
 */
export function clockTimes(text, language) {
  if (!(language in CLOCK)) return [];
  return [...text.matchAll(CLOCK[language])].flatMap((match) => {
    const parts = namedGroups(match);
    const minutes = clockMinutes(parts, language);
    if (minutes === null) return [];
    const isUnsure = 'noon' in parts || isALittle(match, text) || isAnHour(parts);
    const value = ((minutes % HALF_DAY) + HALF_DAY) % HALF_DAY;
    return [{ value, start: match.index, end: match.index + match[0].length, sure: !isUnsure }];
  });
}

/** Whether 一点 probably means "a little", because its context does not indicate one o'clock. */
function isALittle(match, text) {
  if (match[0] !== '一点') return false;
  const preceding = text.slice(Math.max(0, match.index - 2), match.index);
  const following = text.slice(match.index + match[0].length);
  NOT_AT_ALL.lastIndex = 0;
  return !(/^[钟整]/.test(following) || (timesOfDay.includes(preceding) && !NOT_AT_ALL.test(following)));
}

/** Whether French "une heure" may be a duration. */
const isAnHour = (parts) => Object.keys(parts).join() === 'said' && Boolean(UNSURE.get('fr')?.has(parts.said.toLowerCase()));

const isHour = (hour) => hour !== null && hour <= 24;

/** The time of a match, or null if its words are not numbers. @returns {number | null} */
function clockMinutes(parts, language) {
  /** @returns {number | null} */
  const number = (name) => {
    const word = (parts[name] ?? '').toLowerCase();
    if (QUARTERS.has(word)) return QUARTERS.get(word);
    if (/^\p{Nd}{1,2}$/u.test(word)) return Number(word);
    const value = language === 'zh' ? hanValue(word) : wordValue(word, language);
    return value === null ? null : Math.trunc(value);
  };
  if ('noon' in parts) return number('later') || 0;
  if (language === 'fr') return frenchMinutes(parts, number);
  for (const name of ['whole', 'half']) {
    const match = /^(\d{1,2})[:.](\d\d)$/.exec(parts[name] ?? '');
    if (match) return 60 * Number(match[1]) + Number(match[2]);
  }
  if ('before' in parts) {
    const hour = number('hour');
    return hour === null || hour <= 0 || hour > 12 ? null : 60 * hour - 30;
  }
  if ('side' in parts) {
    const [hour, minute] = [number('past'), number('minute')];
    if (hour === null || minute === null || hour <= 0 || hour > 24 || !spoken.includes(minute)) return null; // "two to one" is a score
    return 60 * hour + (['vor', 'to', 'before'].includes(parts.side.toLowerCase()) ? -minute : minute);
  }
  const hour = number('whole' in parts ? 'whole' : 'half');
  if (hour === null || !isHour(hour)) return null;
  if (language !== 'zh') return 60 * hour + (number('rest') || 0);
  if ('half' in parts) return 60 * hour + 30;
  return 60 * hour + ('quarter' in parts ? 15 * { 一: 1, 三: 3 }[parts.quarter] : number('rest') || 0);
}

/** @returns {number | null} */
function frenchMinutes(parts, number) {
  const hour = number('whole' in parts ? 'whole' : 'said');
  if (hour === null || !isHour(hour)) return null;
  if ('less' in parts) return 60 * hour - (number('less') || 0);
  const minutes = number('minutes'); // in "à huit heures deux hommes", "deux" is not a minute
  return 60 * hour + (number('and') || number('rest') || (spoken.includes(minutes) ? minutes : 0) || 0);
}
