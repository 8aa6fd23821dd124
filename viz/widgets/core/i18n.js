// Phrases in the current language of the page.

import { tables as sharedTables } from './boot.js';
import { LANGUAGES, isSupported } from './languages.js';
import { set, state } from './state.js';
import { languageTag } from './language-tags.js';

const tables = sharedTables.words;

/** The phrase of a key, with `{name}` replaced by the value of that name. */
export function t(key, values = {}) {
  const table = tables[state.language] ?? tables.en;
  const text = table[key];
  if (text === undefined) throw new Error(`There is no phrase with the key ${key}.`);
  return text.replace(/\{(\w+)\}/g, (placeholder, name) => (name in values ? String(values[name]) : placeholder));
}

/** The space between two sentences; Chinese has none. */
export const sentenceGap = () => (state.language === 'zh' ? '' : ' ');

export const hasPhrase = (key) => key in (tables[state.language] ?? tables.en);

/** The first supported language of the browser, else English. */
export function browserLanguage() {
  const tags = (navigator.languages ?? [navigator.language]).map((tag) => tag.toLowerCase());
  return tags.map((tag) => tag.slice(0, 2)).find(isSupported) ?? 'en';
}

export function setLanguage(language) {
  document.documentElement.lang = LANGUAGES[language].tag;
  set({ language });
}

/**
 * Text of an error from the server or the page, with translated field names.
 * @param {{ word: string, values?: Record<string, any> }} fault
 */
export function errorText({ word, values = {} }) {
  const field = `field_${values.name}`;
  return t(`error_${word}`, hasPhrase(field) ? { ...values, name: t(field) } : values);
}

/** Text of an error of the server; `fallback`: phrase key for all other errors. */
export const faultText = (error, fallback = 'error_our_fault') => (error.fault ? errorText(error.fault) : t(fallback));

/** Translated name of a model's language code: "de" or "deu_Latn" → "German". Pairs with an arrow work, too. */
export function languageName(code) {
  if (code.includes('→')) return code.split('→').map(languageName).join(' → ');
  const tag = languageTag(code);
  if (hasPhrase(`language_${tag}`)) return t(`language_${tag}`);
  try {
    return new Intl.DisplayNames([document.documentElement.lang], { type: 'language', fallback: 'none' }).of(tag) ?? code;
  } catch {
    return code;
  }
}
