// Notes about unknown words. In sentences and labels they have a dotted underline.

import { make, fillElements } from '../core/dom.js';
import { t } from '../core/i18n.js';

const MAX_WORDS = 8; // maximum number of words in a note

/** The distinct unknown words, as typed. */
export function unknownWords(tokens, text) {
  const words = new Set(tokens.filter(({ unknown }) => unknown).map(({ start, end, label }) => text.slice(start, end).trim() || label));
  const list = [...words].slice(0, MAX_WORDS).join(' · ');
  return words.size > MAX_WORDS ? `${list} · …` : list;
}

/** The note on unknown words, or empty if all are known. `language`: language of the text. */
export function makeUnknownNote(tokens, text, language) {
  const words = unknownWords(tokens, text);
  return words ? fillElements(t('unknown_words'), { words: make('bdi', { lang: language }, words) }) : [];
}
