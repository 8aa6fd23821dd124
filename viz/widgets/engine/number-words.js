// Values of number words and of Chinese numerals: the rules of `model/text/number_words.py`.

import { partition, removeSuffix } from './patterns.js';
import { tables } from './tables.js';

const { small, tens, ordinals, unsure, scales, han } = tables.numbers;

/** @type {(values: Record<string, any>) => Map<string, any>} */
const toMap = (values) => new Map(Object.entries(values));
const languageMaps = (values) => toMap(Object.fromEntries(Object.entries(values).map(([language, words]) => [language, toMap(words)])));

/** Words that are often not a number, by language. @type {Map<string, Map<string, number>>} */
export const UNSURE = languageMaps(unsure);
/** Words that multiply the number before them, by language. @type {Map<string, Map<string, number>>} */
export const SCALES = languageMaps(scales);
/** @type {Map<string, number>} */
export const HAN_DIGITS = toMap(tables.numbers.han_digits);
const HAN_UNITS = toMap(tables.numbers.han_units);
const HAN_SCALES = toMap(tables.numbers.han_scales);
/** Chinese units and scales with their sizes. @type {Map<string, number>} */
export const HAN_SIZES = new Map([...HAN_UNITS, ...HAN_SCALES]);
const ORDINALS = languageMaps(ordinals);
/** Numerals below a hundred, by language. @type {Map<string, Map<string, number>>} */
const NUMERALS = new Map(
  Object.keys(small).map((language) => [
    language,
    new Map([...small[language].map((word, value) => [word, value]), ...tens[language].map((word, index) => [word, 10 * (index + 2)])]),
  ]),
);

/** Whether a language has number words. */
export const hasNumberWords = (language) => NUMERALS.has(language);

const numerals = (language) => /** @type {Map<string, number>} */ (NUMERALS.get(language));
const getOrdinals = (language) => /** @type {Map<string, string>} */ (ORDINALS.get(language));

/** German numerals with umlauts and ß. @type {[string, string][]} */
const SPELLINGS = Object.entries(tables.numbers.german_spellings);
const spellGerman = (word) => SPELLINGS.reduce((text, [spelling, usual]) => text.replaceAll(spelling, usual), word);

/** The value of a word, or null if it is not a number. @returns {number | null} */
export function wordValue(word, language) {
  const values = { de: (german) => germanValue(spellGerman(german)), en: englishValue, fr: frenchValue };
  return UNSURE.get(language)?.get(word) ?? values[language](word);
}

/** The value of Chinese numerals, digit by digit or with units, or null. @returns {number | null} */
export function hanValue(signs) {
  const all = Array.from(signs);
  if (!all.length || !all.every((sign) => han.includes(sign))) return null;
  if (!all.some((sign) => HAN_SIZES.has(sign))) return Number(all.map((sign) => HAN_DIGITS.get(sign)).join(''));
  let [total, section, digit] = [0, 0, 0];
  for (const sign of all) {
    if (HAN_DIGITS.has(sign)) digit = HAN_DIGITS.get(sign) ?? 0;
    else if (HAN_UNITS.has(sign)) [section, digit] = [section + (digit || 1) * HAN_UNITS.get(sign), 0];
    else [total, section, digit] = [(total + section + digit || 1) * HAN_SCALES.get(sign), 0, 0];
  }
  const unit = HAN_SIZES.get(all.at(-2) ?? '') ?? 0;
  if (digit && unit >= 100) digit *= unit / 10; // 一百五: the next smaller unit is omitted
  return total + section + digit;
}

/** @returns {number | null} */
function germanValue(word) {
  const table = numerals('de');
  if (table.has(word) && word !== 'ein') return table.get(word) ?? null;
  const whole = word.endsWith('einhalb') ? table.get(removeSuffix(word, 'einhalb')) : undefined;
  if (whole !== undefined) return whole + 0.5;
  const match = /^(.+?)s?te[nrsm]?$/u.exec(word);
  if (match) {
    const stem = getOrdinals('de').get(removeSuffix(word.replace(/[nrsm]+$/, ''), 'e')) ?? match[1];
    const value = stem === word ? null : germanValue(stem);
    if (value !== null && value !== 1) return value;
  }
  for (const [unit, size] of /** @type {const} */ ([
    ['tausend', 1000],
    ['hundert', 100],
  ])) {
    const [prefix, separator, suffix] = partition(word, unit);
    if (!separator) continue;
    const factor = prefix === '' || prefix === 'ein' ? 1 : germanValue(prefix);
    const rest = !suffix ? 0 : suffix === 'ein' || suffix === 'eins' ? 1 : germanValue(suffix.replace(/^und/, ''));
    return factor === null || rest === null ? null : factor * size + rest;
  }
  const [unit, conjunction, ten] = partition(word, 'und');
  const [ones, others] = [table.get(unit) ?? Infinity, table.get(ten) ?? 0];
  return conjunction && ones < 10 && others >= 20 ? ones + others : null;
}

/** @returns {number | null} */
function englishValue(word) {
  const table = numerals('en');
  const [ten, , unit] = partition(word, '-');
  if (unit) {
    const value = englishValue(unit);
    const first = table.get(ten) ?? 0;
    return first >= 20 && value !== null && value < 10 ? first + value : null;
  }
  if (table.has(word)) return table.get(word) ?? null;
  if (['million', 'billion', 'trillion'].includes(word)) return SCALES.get('en')?.get(word) ?? null;
  if (word === 'hundredth') return 100;
  if (word === 'thousandth') return 1000;
  const cardinal = getOrdinals('en').get(word);
  if (cardinal !== undefined) return table.get(cardinal) ?? null;
  if (word.endsWith('ieth')) return table.get(`${removeSuffix(word, 'ieth')}y`) ?? null;
  return word.endsWith('th') ? (table.get(removeSuffix(word, 'th')) ?? null) : null;
}

/** The value of a word, or of several words with hyphens: "quatre-vingt-dix-sept". @returns {number | null} */
function frenchValue(/** @type {string} */ text) {
  const [table, sizes] = [numerals('fr'), SCALES.get('fr')];
  let [word, total, part] = [text, 0, 0];
  const singular = removeSuffix(word, 's');
  const ordinal = removeSuffix(singular, 'ième');
  if (ordinal !== singular) {
    word = [ordinal, `${ordinal}e`].find((component) => frenchValue(component) !== null) ?? ordinal;
    const at = word.lastIndexOf('-') + 1;
    const last = word.slice(at);
    word = word.slice(0, at) + (getOrdinals('fr').get(last) ?? last);
  }
  for (const component of word.split('-')) {
    const atom = component === 'vingts' ? 'vingt' : component;
    if (atom === 'et' && part) continue;
    const value = table.get(atom === 'une' ? 'un' : atom) ?? sizes?.get(atom);
    if (value === undefined) return null;
    if (atom === 'vingt' && part % 100 === 4) part += 76;
    else if (value === 100) part = Math.max(part, 1) * value;
    else if (value >= 1000) [total, part] = [total + Math.max(part, 1) * value, 0];
    else if (!addsInFrench(part, value)) return null;
    else part += value;
  }
  return total + part;
}

/** Whether the next word continues a number below a thousand: "soixante dix", but not "deux deux". */
export function addsInFrench(part, value) {
  const rest = part % 100;
  if (rest === 60 || rest === 80) return value < 20;
  if (rest === 0) return value < 100;
  return (rest % 10 === 0 && rest > 10 && value < 10) || (rest === 10 && value >= 7 && value < 10);
}
