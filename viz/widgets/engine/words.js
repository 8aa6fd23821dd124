// Merging of sub-words into words: the rules of `model/text/segmentation.py`.

import { category, isBlankText, isDigit, isInRanges, isMark, isSpace } from './characters.js';
import { tables } from './tables.js';

const JOINER = '\u200d';
const SPACELESS_CATEGORIES = ['Lo', 'Lm', 'Nl', 'So'];

/** @typedef {'alphabet' | 'spaceless' | 'katakana' | 'punctuation' | 'picture' | 'flag' | 'attached' | 'other'} CharacterKind */

/** @returns {CharacterKind} */
function characterKind(character) {
  const name = category(character);
  const code = character.codePointAt(0);
  const { katakana, spaceless, flags, skin_tones: skinTones } = tables.scripts;
  if (isMark(character) || name === 'Cf' || isInRanges(code, skinTones)) return 'attached';
  if (isInRanges(code, katakana)) return 'katakana';
  if (isInRanges(code, spaceless) && SPACELESS_CATEGORIES.includes(name)) return 'spaceless';
  if (isInRanges(code, flags)) return 'flag';
  if ('LN'.includes(name[0])) return 'alphabet';
  if (name === 'So') return 'picture';
  return 'PS'.includes(name[0]) ? 'punctuation' : 'other';
}

/** Whether a character joins two parts of a word or of a number. */
function joins(before, character, after) {
  if (!before || !after) return false;
  const { number, word } = tables.joiners;
  if (number.includes(character) && isDigit(before) && isDigit(after)) return true;
  return word.includes(character) && characterKind(before) === 'alphabet' && characterKind(after) === 'alphabet';
}

/** Whether each character continues the word of the one before it. */
function continuesWord(characters) {
  const flags = [];
  let [previous, bridged, halfFlag] = ['', false, false];
  /** @type {CharacterKind} */
  let previousKind = 'other';
  characters.forEach((character, index) => {
    let kind = characterKind(character);
    if (kind === 'attached') {
      flags.push(index > 0);
      return;
    }
    let sameWord = bridged || (kind === previousKind && (kind === 'alphabet' || kind === 'katakana'));
    if (tables.joiners.iteration.includes(character) && (previousKind === 'spaceless' || previousKind === 'katakana')) {
      kind = previousKind;
      sameWord = true;
    } else if (kind === 'picture') sameWord = index > 0 && characters[index - 1] === JOINER;
    else if (kind === 'flag') sameWord = halfFlag;
    else if (kind === 'punctuation') sameWord = character === previous;
    bridged = joins(previous, character, characters[index + 1] ?? '');
    flags.push(sameWord || bridged);
    halfFlag = kind === 'flag' && !halfFlag;
    [previous, previousKind] = [character, kind];
  });
  return flags;
}

/**
 * The word of each token, from 0.
 * @param {string[]} characters
 * @param {[number, number][]} spans start and end of each token, without the space before a word
 */
export function wordIndices(characters, spans) {
  const continues = continuesWord(characters);
  let endOfWords = characters.length;
  while (endOfWords && isSpace(characters[endOfWords - 1])) endOfWords--;
  const words = [];
  let word = -1;
  let previous = [0, 0];
  for (const [start, end] of spans) {
    const isFirst = words.length === 0;
    const isSame = start === previous[0] && end === previous[1];
    const followsSpace = isBlankText(characters.slice(previous[0], previous[1]).join(''));
    const isJoined = isSame || start >= endOfWords || followsSpace || (start === previous[1] && continues[start]);
    word += isFirst || !isJoined ? 1 : 0;
    words.push(word);
    previous = [start, end];
  }
  return words;
}
