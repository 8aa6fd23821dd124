// Token labels: invisible characters made visible, long tokens truncated. The rules of `viz/token_labels.py`.

import { category, isBlankText, isEastAsian, isInRanges, isMark, isSpace, isWide } from './characters.js';
import { tables } from './tables.js';

const HIDDEN = ['Cc', 'Cf', 'Cs', 'Co', 'Cn', 'Zl', 'Zp'];

const isTag = (character) => character >= '\u{e0020}' && character < '\u{e0080}';
const isFlagLetter = (character) => character >= '\u{1f1e6}' && character <= '\u{1f1ff}';
const isJoining = (character) => tables.labels.joining.includes(character);
/** Whether a character has a combining class, as accents do. */
const isCombining = (character) => isInRanges(codePoint(character), tables.labels.combining);
const codePoint = (character) => /** @type {number} */ (character.codePointAt(0));

function sign(character) {
  const { signs } = tables.labels;
  if (character in signs) return signs[character];
  const name = category(character);
  if (name === 'Zs') return signs[' '];
  return HIDDEN.includes(name) ? `[U+${codePoint(character).toString(16).toUpperCase().padStart(4, '0')}]` : character;
}

/** Replaces invisible characters with symbols; spaces between words remain. */
export function makeVisible(text) {
  const trimmed = text.replace(/^ +| +$/g, '') || text;
  if (!trimmed) return tables.labels.empty;
  if (isBlankText(trimmed)) return Array.from(trimmed, sign).join('');
  return Array.from(trimmed, (character, index) => {
    if (isJoining(character) || isTag(character)) return index > 0 ? character : sign(character);
    if (index === 0 && isCombining(character)) return `◌${character}`;
    return character === ' ' ? character : sign(character);
  }).join('');
}

/** The grapheme clusters of a text. */
export function graphemeClusters(text) {
  /** @type {string[]} */
  const clusters = [];
  for (const character of text) {
    const last = clusters.at(-1);
    const extendsCluster =
      isMark(character) || isJoining(character) || isTag(character) || (character >= '\u{1f3fb}' && character <= '\u{1f3ff}');
    const isSecondLetter = last && isFlagLetter(character) && isFlagLetter(last) && Array.from(last).length === 1;
    if (last && (extendsCluster || last.endsWith('\u200d') || isSecondLetter)) clusters[clusters.length - 1] += character;
    else clusters.push(character);
  }
  return clusters;
}

function limitAccents(cluster) {
  let accents = 0;
  return Array.from(cluster)
    .filter((character) => !isCombining(character) || ++accents <= tables.labels.accents)
    .join('');
}

/** The width of a text in columns: square characters and emoji take two. */
export const displayWidth = (text) => graphemeClusters(text).reduce((sum, [first]) => sum + (isWide(first) ? 2 : 1), 0);

function truncate(text) {
  const longest = tables.labels.columns;
  const clusters = graphemeClusters(text).map(limitAccents);
  if (clusters.reduce((sum, cluster) => sum + displayWidth(cluster), 0) <= longest) return clusters.join('');
  let [prefix, width] = ['', 1];
  for (const cluster of clusters) {
    width += displayWidth(cluster);
    if (width > longest) break;
    prefix += cluster;
  }
  return `${prefix.trimEnd()}…`;
}

const isLetter = (character) => 'LNM'.includes(category(character)[0]) && !isEastAsian(character);

function isAdjacent(before, token) {
  const hasSpace = isSpace(Array.from(before.text).at(-1) ?? '') || isSpace(Array.from(token.text)[0] ?? '');
  return !(before.special || token.special || hasSpace) && before.end === token.start && token.end > token.start;
}

const continues = (before, token) => isLetter(Array.from(token.text)[0]) && token.word !== null && token.word === before.word;

/**
 * One label for each token.
 * @param {import('./tokenizer.js').Token[]} tokens
 * @returns {{ text: string, full: string, joined: boolean }[]}
 */
export function tokenLabels(tokens) {
  return tokens.map((token, index) => {
    const before = tokens[index - 1];
    const joined = before !== undefined && isAdjacent(before, token);
    if (token.piece) {
      const text = `${makeVisible(token.text)} ${token.piece + 1}/${token.pieces}`;
      return { text, full: text, joined: true };
    }
    const dot = joined && continues(before, token) ? tables.labels.dot : '';
    const text = makeVisible(token.text);
    return { text: dot + truncate(text), full: dot + text, joined };
  });
}

/** The label of a candidate token; without a leading space it continues the word. */
export function candidateLabel(text) {
  const [first] = text;
  return (first !== undefined && isLetter(first) ? tables.labels.dot : '') + truncate(makeVisible(text));
}

/** The label of a word without its context. */
export const wordLabel = (text) => truncate(makeVisible(text));
