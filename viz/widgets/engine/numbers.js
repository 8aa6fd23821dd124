// Numbers in a text, in digits or in words, and their comparison between texts: the rules of `model/text/numbers.py`.

import { hasLetterOrDigit, strip } from './characters.js';
import { clockTimes, HALF_DAY } from './clock-times.js';
import { dateParts } from './calendar-dates.js';
import { HAN_DIGITS, HAN_SIZES, SCALES, UNSURE, addsInFrench, hanValue, hasNumberWords, wordValue } from './number-words.js';
import { compileAll, matchAt, removeSuffix } from './patterns.js';
import { tables } from './tables.js';

const { and, han, decimal_marks: decimalMarks, patterns } = tables.numbers;
const { han_other: HAN_OTHER, han_idiom: HAN_IDIOM, han_decimal: HAN_DECIMAL, ...GLOBAL } = compileAll(patterns, 'g');
const { digits: DIGITS, word: WORD, full_width: FULL_WIDTH } = GLOBAL;
const { cents: CENTS, han_scale: HAN_SCALE } = compileAll(patterns, 'y');
const HALVES = compileAll(tables.numbers.halves, 'y');
const SCALE = compileAll(tables.numbers.scale, 'y');
const CURRENCY = new RegExp(`^(?:${patterns.currency[0]})$`, patterns.currency[1]);
const HAN_RUN = new RegExp(`[${han}]+`, 'g');
const NEXT_HAN_DIGITS = /(\d+)[百千万]/y;
const JOINED_BY_AND = ['hundred', 'thousand', 'million', 'vingt', 'trente', 'quarante', 'cinquante', 'soixante'];
const FULL_WIDTH_SHIFT = 0xfee0;

/**
 * @typedef {{ value: number, start: number, end: number, required: boolean, clock: boolean }} NumberSpan positions count code points;
 *   `required`: the other text must have it; `clock`: the value is a time, in minutes of half a day
 */

/** @returns {NumberSpan} */
const number = (value, start, end, required = true, clock = false) => ({ value, start, end, required, clock });
const matchSpan = (match) => /** @type {[number, number]} */ ([match.index, match.index + match[0].length]);
const dots = (match) => '·'.repeat(match.length);
const isAlphabetic = (text) => /^\p{L}+$/u.test(text);

/** The value of a decimal digit of any script. */
function digitValue(code) {
  const [first] = tables.decimals.find(([low, high]) => low <= code && code <= high);
  return (code - first) % 10;
}

/** A text with one unit for each character, and with ASCII digits, so that positions count code points. */
function toBasicPlane(text) {
  const narrow = text.replace(FULL_WIDTH, (digits) =>
    Array.from(digits, (digit) => String.fromCharCode(digit.charCodeAt(0) - FULL_WIDTH_SHIFT)).join(''),
  );
  return Array.from(narrow, (character) => {
    if (/[^\0-\x7f]/.test(character) && /\p{Nd}/u.test(character)) return String(digitValue(character.codePointAt(0)));
    if (character.length === 1) return character;
    return hasLetterOrDigit(character) ? 'ª' : '·';
  }).join('');
}

/**
 * All numbers of a text, in order. In other languages than the tables', only digits are found.
 * @param {string} original
 * @param {string} language two letters
 * @returns {NumberSpan[]}
 */
export function findNumbers(original, language) {
  const plain = toBasicPlane(original);
  const text = language === 'zh' ? plain.replace(HAN_IDIOM, dots) : plain;
  const results = language === 'zh' ? hanDecimals(text) : [];
  for (const find of [dates, clocks, findDigits, language === 'zh' ? hanNumbers : numberWords]) {
    const occupied = [...results];
    for (const candidate of find(text, language)) {
      if (!occupied.some(({ start, end }) => start < candidate.end && candidate.start < end)) results.push(candidate);
    }
  }
  return joinMoney(
    results.sort((one, other) => one.start - other.start),
    text,
  );
}

/** Joins whole units of a currency and their hundredths to one number. */
function joinMoney(numbers, text) {
  const results = [];
  for (const each of numbers) {
    const last = results.at(-1);
    const cents = last && toHundredths(each, text);
    if (cents && !last.clock && CURRENCY.test(text.slice(last.end, each.start))) {
      results[results.length - 1] = number(Number((last.value + cents / 100).toFixed(2)), last.start, each.end);
    } else results.push(each);
  }
  return results;
}

/** The hundredths of a currency that a number after it means, or 0 if it is another number. */
function toHundredths({ value, start, end, clock }, text) {
  if (clock || value <= 0 || value >= 100 || value % 1) return 0;
  const isLast = !hasLetterOrDigit(text.slice(end, end + 1));
  if (matchAt(CENTS, text, end) || (value >= 10 && isLast)) return value;
  return text.at(start - 1) === '块' && isLast ? value * 10 : 0; // 三块五 is 3.50, but 三块五个 is not
}

/**
 * The required numbers of each side that the other side lacks, once for each occurrence.
 * @param {NumberSpan[]} source
 * @param {NumberSpan[]} target
 */
export function unmatchedNumbers(source, target) {
  const remaining = [...target];
  const unmatched = [];
  for (const each of [...source].sort((one, other) => Number(other.required) - Number(one.required))) {
    const at = remaining.findIndex((candidate) => isSame(each, candidate));
    if (at >= 0) remaining.splice(at, 1);
    else if (each.required) unmatched.push(each);
  }
  // One side may repeat a number or split it: any occurrence on the other side counts as a match.
  const lacking = (numbers, others) => numbers.filter((each) => !others.some((other) => isSame(each, other)));
  const required = remaining.filter((each) => each.required);
  return [lacking(unmatched, target), lacking(required, source)].map((side) => side.sort((one, other) => one.start - other.start));
}

function isSame(first, second) {
  if (first.clock === second.clock) return first.value === second.value;
  const [clock, plain] = first.clock ? [first, second] : [second, first];
  return clock.value === (plain.value * 60) % HALF_DAY && plain.value <= 24; // "um sieben", "at 7:00"
}

const dates = (text, language) => dateParts(text, language).map(({ value, start, end, sure }) => number(value, start, end, sure));
const clocks = (text, language) => clockTimes(text, language).map(({ value, start, end, sure }) => number(value, start, end, sure, true));

function findDigits(text, language) {
  const results = [];
  let last = 0;
  for (const match of text.matchAll(DIGITS)) {
    const [digits] = match;
    const [start, end] = matchSpan(match);
    if (start < last) continue; // part of the number before it
    const words = digits.split(/\s+/);
    if (digits.includes(':')) {
      const [hour, minute] = digits.split(':').map(Number);
      results.push(number((60 * hour + minute) % HALF_DAY, start, end, true, true));
    } else if (words.length > 1 && isAlphabetic(words[1])) {
      results.push(number(Number(`${words[0]}.${words[2]}`), start, end)); // "3 Euro 20"
    } else {
      const [value, to] = continueNumber(text, end, digitsValue(match, language), language);
      last = to;
      results.push(number(value, start, to, digits !== '1' || to > end));
    }
  }
  return results;
}

/** The value of digits. Thousands separators in German are decimal marks in English, and vice versa. */
function digitsValue({ 0: digits, groups: { mark, tail = '' } }, language) {
  if (mark === undefined) return Number(digits.replace(',', '.'));
  const whole = removeSuffix(digits, tail);
  const parts = whole.split(mark);
  if (mark === (decimalMarks[language] ?? '.') && parts.length === 2 && !tail) return Number(parts.join('.'));
  return Number(parts.join('') + tail.replace(',', '.'));
}

/** A number with its continuation (a half, a word such as "million"), and its end. @returns {[number, number]} */
function continueNumber(text, end, value, language) {
  const half = HALVES[language] && matchAt(HALVES[language], text, end);
  if (half) [value, end] = [value + 0.5, end + half[0].length];
  if (language === 'zh') return continueHanNumber(text, end, value);
  const scale = SCALE[language] && matchAt(SCALE[language], text, end);
  if (!scale) return [value, end];
  const { scale: word } = /** @type {any} */ (scale.groups);
  return [value * Number(SCALES.get(language)?.get(word.toLowerCase())), end + scale[0].length];
}

/** A number continued with Chinese units: 3万5千, 1亿2000万. @returns {[number, number]} */
function continueHanNumber(text, end, value) {
  let [total, part] = [0, value];
  for (let scale = matchAt(HAN_SCALE, text, end); scale; scale = matchAt(HAN_SCALE, text, end)) {
    for (const sign of scale[0]) part *= Number(HAN_SIZES.get(sign));
    [total, part, end] = [total + part, 0, end + scale[0].length];
    const next = matchAt(NEXT_HAN_DIGITS, text, end);
    if (!next) break;
    [part, end] = [Number(next[1]), end + next[1].length];
  }
  return [total + part, end];
}

// ---------------------------------------------------------------- words

function numberWords(text, language) {
  if (!hasNumberWords(language)) return [];
  return language === 'de' ? germanWords(text) : wordRuns(text, language);
}

function germanWords(text) {
  const results = [];
  let last = 0;
  for (const match of text.matchAll(WORD)) {
    const [start, end] = matchSpan(match);
    const word = match[0].toLowerCase();
    const own = start >= last ? wordValue(word, 'de') : null;
    if (own === null) continue;
    const [value, to] = continueNumber(text, end, own, 'de');
    last = to;
    results.push(number(value, start, to, !UNSURE.get('de')?.has(word) || to > end));
  }
  return results;
}

/** Numbers of several words: "three hundred and fifty", "deux cent vingt et un". */
function wordRuns(text, language) {
  const results = [];
  let run = [];
  let last = 0;
  for (const match of text.matchAll(WORD)) {
    if (match.index < last) continue;
    const before = run.at(-1);
    const isJoined = Boolean(before) && !strip(text.slice(matchSpan(before)[1], match.index));
    const word = match[0].toLowerCase();
    const isAnd = isJoined && and[language].includes(word) && JOINED_BY_AND.includes(before[0].toLowerCase());
    const isPart = isAnd || wordValue(word, language) !== null;
    if (isPart && (!before || isJoined)) {
      run.push(match);
      continue;
    }
    for (const each of runNumbers(run, text, language)) {
      last = each.end;
      results.push(each);
    }
    run = isPart ? [match] : [];
  }
  return [...results, ...runNumbers(run, text, language)];
}

function runNumbers(words, text, language) {
  const run = [...words];
  while (run.length && and[language].includes(run[run.length - 1][0].toLowerCase())) run.pop();
  if (!run.length) return [];
  const results = [];
  let [total, part, start] = [0, 0, 0];
  run.forEach((match, index) => {
    const word = match[0].toLowerCase();
    const value = wordValue(word, language);
    if (value === null) return;
    if (SCALES.get(language)?.has(word) && (index > start || value > 100)) {
      [total, part] = value > 100 ? [total + Math.max(part, 1) * value, 0] : [total, Math.max(part, 1) * value];
    } else if (language === 'fr' && (word === 'vingt' || word === 'vingts') && part % 100 === 4) part += 76;
    else if (part && !(language === 'fr' ? addsInFrench(part, value) : part % 100 === 0 && value < 100)) {
      results.push(number(total + part, run[start].index, matchSpan(run[index - 1])[1], total + part !== 1)); // "two two": a score
      [total, part, start] = [0, value, index];
    } else part += value;
  });
  const [from, to] = [run[start].index, matchSpan(run[run.length - 1])[1]];
  const [value, end] = continueNumber(text, to, total + part, language);
  // "an hour and a half" is not a required number.
  const sure = end > to ? value !== 1.5 : !UNSURE.get(language)?.has(text.slice(from, to).toLowerCase());
  return [...results, number(value, from, end, sure)];
}

// ---------------------------------------------------------------- Chinese

/** Decimals such as 三点五, unless they are times of day. */
function hanDecimals(text) {
  return [...text.matchAll(HAN_DECIMAL)].flatMap((match) => {
    const [whole, rest] = match[0].split('点');
    const value = hanValue(whole);
    const digits = Array.from(rest, (sign) => HAN_DIGITS.get(sign)).join('');
    return value === null ? [] : [number(Number(`${value}.${digits}`), ...matchSpan(match))];
  });
}

function hanNumbers(text) {
  const masked = text.replace(HAN_OTHER, dots);
  const pairs = [...masked.matchAll(/[俩仨]/g)].map((match) => number(match[0] === '俩' ? 2 : 3, ...matchSpan(match), false));
  const runs = [...masked.matchAll(HAN_RUN)].flatMap((match) => {
    const [start, end] = matchSpan(match);
    const own = hanValue(match[0]);
    if (own === null) return [];
    // A single numeral, above all 一, often belongs to a word or a name.
    const next = masked.charAt(end);
    const isNextTime = masked.charAt(start - 1) === '第' && ['天', '年', '日'].includes(next); // "the next day"
    const sure = !'一万千百十'.includes(match[0]) && !['些', '边'].includes(next) && !isNextTime;
    const [value, to] = continueNumber(masked, end, own, 'zh');
    return [number(value, start, to, sure)];
  });
  return [...pairs, ...runs];
}
