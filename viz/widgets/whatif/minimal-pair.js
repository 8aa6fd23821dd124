// Minimal pair: a second sentence turned into word swaps of the first.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { setInterventions, interventions, characterOffset } from './interventions.js';

const WORDS = /\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{N}\p{M}'’-])+|[^\s]/gu;

/** Words of a text as {word, start, end}, with offsets in UTF-16 code units. */
const splitWords = (text) => [...text.matchAll(WORDS)].map(({ 0: word, index }) => ({ word, start: index, end: index + word.length }));

/** Longest common subsequence of two word lists, as pairs of indices, by dynamic programming. */
function alignWords(first, second) {
  const lengths = Array.from({ length: first.length + 1 }, () => new Uint16Array(second.length + 1));
  for (let i = first.length - 1; i >= 0; i--) {
    for (let j = second.length - 1; j >= 0; j--) {
      lengths[i][j] = first[i].word === second[j].word ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < first.length && j < second.length; ) {
    if (first[i].word === second[j].word) pairs.push([i++, j++]);
    else if (lengths[i + 1][j] >= lengths[i][j + 1]) i++;
    else j++;
  }
  return pairs;
}

/** Swaps that turn `text` into `otherText`; inserted words are merged with an unchanged neighbour. */
export function findSwaps(text, otherText) {
  const [oldWords, newWords] = [splitWords(text), splitWords(otherText)];
  const commonPairs = [...alignWords(oldWords, newWords), [oldWords.length, newWords.length]];
  const swaps = [];
  let [oldStart, newStart] = [0, 0]; // of the words between two common words
  for (const [oldEnd, newEnd] of commonPairs) {
    const count = oldEnd - oldStart;
    const isOneToOne = count === newEnd - newStart && count > 1;
    const runs = isOneToOne
      ? Array.from({ length: count }, (_, n) => [oldStart + n, oldStart + n + 1, newStart + n, newStart + n + 1])
      : [[oldStart, oldEnd, newStart, newEnd]];
    for (const run of runs) swaps.push(...makeSwap(text, oldWords, otherText, newWords, run));
    [oldStart, newStart] = [oldEnd + 1, newEnd + 1];
  }
  return mergeOverlapping(swaps);
}

/** Merges insertions on both sides of a word into one swap, because swaps must not overlap. */
function mergeOverlapping(swaps) {
  const mergedSwaps = [];
  for (const swap of swaps) {
    const last = mergedSwaps.at(-1);
    if (!last || swap.start >= last.end) mergedSwaps.push(swap);
    else {
      const sharedWord = last.text.split(' ').at(-1); // the word that both swaps contain
      mergedSwaps[mergedSwaps.length - 1] = {
        ...last,
        end: swap.end,
        text: last.text + swap.text.slice(swap.text.indexOf(sharedWord) + sharedWord.length),
      };
    }
  }
  return mergedSwaps;
}

/**
 * A list of one intervention, or an empty list for an empty run. Inserted words are merged with the word after them or, at
 * the end, with the word before them.
 * @param {number[]} run start and end among the old words, start and end among the new words
 */
function makeSwap(text, oldWords, otherText, newWords, run) {
  let [oldStart, oldEnd, newStart, newEnd] = run;
  const isInsertion = oldStart === oldEnd;
  if (isInsertion && (newStart === newEnd || !oldWords.length)) return [];
  if (isInsertion && oldStart === oldWords.length) [oldStart, newStart] = [oldStart - 1, newStart - 1];
  else if (isInsertion) [oldEnd, newEnd] = [oldEnd + 1, newEnd + 1];
  const span = { start: characterOffset(text, oldWords[oldStart].start), end: characterOffset(text, oldWords[oldEnd - 1].end) };
  if (newStart === newEnd) return [{ action: 'erase', ...span }];
  return [{ action: 'swap', ...span, text: otherText.slice(newWords[newStart].start, newWords[newEnd - 1].end) }];
}

/** The text with the swaps and erasures among the interventions applied. */
export function applySwaps(text, list) {
  const characters = [...text];
  const swaps = list.filter(({ action }) => action === 'swap' || action === 'erase').sort((a, b) => b.start - a.start);
  for (const { start, end, text: word = '' } of swaps) characters.splice(start, end - start, ...word);
  return characters.join('').replace(/ {2,}/g, ' ').trim();
}

/** The sentence as a field; Enter turns the edited text into swaps in one step. */
export class MinimalPair {
  constructor() {
    this.description = make('label', {});
    this.field = make('textarea', { rows: 2, spellcheck: 'false', onkeydown: (event) => this.onKeydown(event) });
    this.submitButton = make('button', { type: 'submit', class: 'link' });
    this.element = make(
      'form',
      { class: 'pair', onsubmit: (event) => this.submit(event) },
      this.description,
      this.field,
      this.submitButton,
    );
    this.description.append(make('span', {}));
    this.drawnText = ''; // the text at the last draw, to keep what the visitor types
  }

  draw(translation) {
    this.translation = translation;
    this.description.firstChild.textContent = t('whatif_pair');
    this.field.setAttribute('aria-label', t('whatif_pair'));
    this.submitButton.textContent = t('whatif_pair_go');
    this.field.lang = translation.model.source;
    const currentText = applySwaps(translation.source_text, interventions());
    if (currentText !== this.drawnText) this.field.value = currentText;
    this.drawnText = currentText;
  }

  onKeydown(event) {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) this.submit(event);
  }

  /** Replaces the interventions on words by the swaps that lead to the typed text. */
  submit(event) {
    event.preventDefault();
    const others = interventions().filter(({ action }) => !['swap', 'erase', 'mask'].includes(action));
    const typedText = this.field.value.replace(/\s+/g, ' ').trim();
    setInterventions([...others, ...findSwaps(this.translation.source_text, typedText)]);
  }
}
