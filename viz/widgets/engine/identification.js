// The language of a text, by script and frequent words: the rules of `model/text/identification.py`.

import { compile } from './patterns.js';
import { tables } from './tables.js';

const rules = tables.identification;
const MAX_CHARACTERS = 20_000;
const ENDING_LENGTHS = [5, 4, 3, 2];
const WORD = compile(rules.word, 'g');
const SCRIPTS = rules.scripts.map(([name, letters]) => /** @type {const} */ ([name, new RegExp(`[${letters}]`, 'gu')]));
const LETTERS = new Map(Object.entries(rules.letters));
const ENDINGS = new Map(Object.entries(rules.endings));
/** Languages in which a word is frequent. @type {Map<string, string[]>} */
const WORD_LANGUAGES = new Map();
for (const [language, words] of Object.entries(rules.frequent)) {
  for (const word of new Set(words.split(' '))) WORD_LANGUAGES.set(word, [...(WORD_LANGUAGES.get(word) ?? []), language]);
}

/** The frequent words of a language. @returns {Set<string>} */
export const frequentWords = (language) => new Set((rules.frequent[language] ?? '').split(' '));

/** The two-letter code of the language of a text, or null if it is too short, mixed or in an unknown language. */
export function identify(original) {
  const text = Array.from(original).slice(0, MAX_CHARACTERS).join('').normalize('NFC');
  const counts = new Map(SCRIPTS.map(([name, pattern]) => [name, text.match(pattern)?.length ?? 0]));
  const [kana, han] = [counts.get('ja') ?? 0, counts.get('zh') ?? 0];
  if (kana + han) {
    const isJapanese = kana >= rules.min_kana_share * (kana + han);
    counts.set('ja', isJapanese ? 3 * (kana + han) : 0); // one character counts as much as three letters
    counts.set('zh', isJapanese ? 0 : 3 * (kana + han));
  }
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const [script, highest] = [...counts].reduce((best, entry) => (entry[1] > best[1] ? entry : best));
  if (!highest || 2 * highest < total || (highest === total && total < 2)) return null;
  if (script === 'latin') return voteByWords(text);
  if (script === 'cyrillic') return /[іїєґІЇЄҐ]/.test(text) ? 'uk' : 'ru';
  if (script === 'arabic') return /[پچژگی]/.test(text) ? 'fa' : 'ar';
  return script;
}

/** Adds votes, which several languages share. */
function share(votes, languages, weight) {
  for (const language of languages) votes.set(language, (votes.get(language) ?? 0) + weight / languages.length);
}

function voteByWords(text) {
  const words = [...text.matchAll(WORD)].slice(0, rules.max_words).map(([word]) => word.toLowerCase().replaceAll('’', "'"));
  if (words.length < rules.min_words) return null;
  /** @type {Map<string, number>} */
  const votes = new Map([['es', 0]]);
  for (const word of words) {
    const letters = Array.from(word);
    share(votes, WORD_LANGUAGES.get(word) ?? [], 1);
    for (const letter of new Set(letters)) {
      if (LETTERS.has(letter)) share(votes, LETTERS.get(letter).split(' '), rules.letter_weight);
    }
    const endings = ENDING_LENGTHS.filter((size) => letters.length >= size + rules.min_stem_letters);
    const ending = endings.map((size) => letters.slice(-size).join('')).find((letters) => ENDINGS.has(letters));
    if (ending) share(votes, ENDINGS.get(ending).split(' '), rules.ending_weight);
  }
  for (const mark of '¿¡') if (text.includes(mark)) share(votes, ['es'], 1);
  const ranked = [...votes, /** @type {[string, number]} */ (['', 0])].sort(
    ([one, count], [other, otherCount]) => otherCount - count || (one < other ? 1 : -1),
  );
  const [[language, highest], [, second]] = ranked;
  const isClear = highest >= Math.max(rules.min_vote, rules.min_vote_per_word * words.length) && highest >= rules.min_lead * second;
  return isClear ? language : null;
}
