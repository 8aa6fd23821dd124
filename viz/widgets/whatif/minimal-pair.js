// Minimal pair: a second sentence turned into word swaps of the first.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { setInterventions, interventions, characterOffset } from './interventions.js';

const WORDS = /\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{N}\p{M}'’-])+|[^\s]/gu;

/** Words with their offsets in UTF-16 code units. */
const splitWords = (text) => [...text.matchAll(WORDS)].map(({ 0: word, index }) => ({ word, start: index, end: index + word.length }));

/** Longest common subsequence of two word lists, as pairs of indices. */
function commonWords(first, second) {
  const longest = Array.from({ length: first.length + 1 }, () => new Uint16Array(second.length + 1));
  for (let i = first.length - 1; i >= 0; i--) {
    for (let j = second.length - 1; j >= 0; j--) {
      longest[i][j] = first[i].word === second[j].word ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < first.length && j < second.length; ) {
    if (first[i].word === second[j].word) pairs.push([i++, j++]);
    else if (longest[i + 1][j] >= longest[i][j + 1]) i++;
    else j++;
  }
  return pairs;
}

/** Swaps that turn `text` into `otherText`; inserted words are merged with an unchanged neighbour. */
export function swapsBetween(text, otherText) {
  const [oldWords, words] = [splitWords(text), splitWords(otherText)];
  const pairs = [...commonWords(oldWords, words), [oldWords.length, words.length]];
  const swaps = [];
  let [i, j] = [0, 0];
  for (const [nextOld, nextWord] of pairs) {
    const isPairable = nextOld - i === nextWord - j && nextOld - i > 1;
    const runs = isPairable
      ? Array.from({ length: nextOld - i }, (_, n) => [i + n, i + n + 1, j + n, j + n + 1])
      : [[i, nextOld, j, nextWord]];
    for (const run of runs) swaps.push(...makeSwap(text, oldWords, otherText, words, run));
    [i, j] = [nextOld + 1, nextWord + 1];
  }
  return mergeOverlapping(swaps);
}

/** Merge insertions on both sides of a word into one swap, because swaps must not overlap. */
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
 * Returns one swap, or none for an empty run. An inserted word is merged with its neighbour.
 * @param {number[]} run
 */
function makeSwap(text, oldWords, newWords, words, run) {
  const [from, to, first, last] = run;
  if (from === to && first === last) return [];
  if (from === to && !oldWords.length) return [];
  const before = from === to && from === oldWords.length; // inserted at the end: merge with the word before
  const [start, end] = from === to ? (before ? [from - 1, from] : [from, from + 1]) : [from, to];
  const [begin, stop] = from === to ? (before ? [first - 1, last] : [first, last + 1]) : [first, last];
  const span = { start: characterOffset(text, oldWords[start].start), end: characterOffset(text, oldWords[end - 1].end) };
  if (begin === stop) return [{ action: 'erase', ...span }];
  return [{ action: 'swap', ...span, text: newWords.slice(words[begin].start, words[stop - 1].end) }];
}

/** The sentence with its current swaps applied. */
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
    this.field = make('textarea', { rows: 2, spellcheck: 'false', onkeydown: (event) => this.press(event) });
    this.submitButton = make('button', { type: 'submit', class: 'link' });
    this.element = make(
      'form',
      { class: 'pair', onsubmit: (event) => this.compare(event) },
      this.description,
      this.field,
      this.submitButton,
    );
    this.description.append(make('span', {}));
    this.drawnText = '';
  }

  draw(translation) {
    this.translation = translation;
    this.description.firstChild.textContent = t('whatif_pair');
    this.field.setAttribute('aria-label', t('whatif_pair'));
    this.submitButton.textContent = t('whatif_pair_go');
    this.field.lang = translation.model.source;
    const currentText = applySwaps(translation.source_text, interventions());
    if (currentText !== this.drawnText) this.field.value = currentText; // keeps typed text until the sentence or the swaps change
    this.drawnText = currentText;
  }

  press(event) {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) this.compare(event);
  }

  compare(event) {
    event.preventDefault();
    const others = interventions().filter(({ action }) => !['swap', 'erase', 'mask'].includes(action));
    const typed = this.field.value.replace(/\s+/g, ' ').trim();
    setInterventions([...others, ...swapsBetween(this.translation.source_text, typed)]);
  }
}
