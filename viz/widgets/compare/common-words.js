// Two translations in common words: the difference of their texts, and cells of their maps.

import { make, fillElements } from '../core/dom.js';
import { axes, argMax, threeDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { isMatched } from './token-matching.js';
import { badge } from './model-panel.js';

/** The second text as nodes: words that it lacks are struck through, additional words are bold. */
export function diffText(units, texts, tokens) {
  const nodes = [];
  let textEnd = 0; // end of the second text that the nodes contain
  const words = units.filter(({ special, key }) => !special && key !== 'b');
  const getSpan = (side, tokenIndices) => [
    Math.min(...tokenIndices.map((index) => tokens[side][index].start)),
    Math.max(...tokenIndices.map((index) => tokens[side][index].end)),
  ];
  for (const unit of words) {
    const [firstTokens, secondTokens] = unit.places;
    if (!secondTokens.length) {
      const [start, end] = getSpan(0, firstTokens);
      const followsSpace = /\s/.test(texts[0][start - 1] ?? '');
      nodes.push(followsSpace ? ' ' : '', make('s', { title: t('beside_lacks') }, texts[0].slice(start, end)));
      continue;
    }
    const [start, end] = getSpan(1, secondTokens);
    const wordStart = Math.max(start, textEnd);
    nodes.push(texts[1].slice(textEnd, wordStart));
    const word = texts[1].slice(wordStart, end);
    nodes.push(isMatched(unit) ? word : make('b', { title: t('beside_alone') }, word));
    textEnd = Math.max(textEnd, end);
  }
  nodes.push(texts[1].slice(textEnd));
  return nodes.filter((node) => node !== '');
}

/** The text of B as nodes that show its difference from A's. For the reverse model, it is B's input, A's output. */
export function secondText(first, { translation, matching, back }) {
  if (!(back ? translation.source_text : translation.text).trim()) return [t('beside_empty')];
  const translations = [first, translation];
  const units = matching.units('cross', translations)[back ? 'columns' : 'rows'];
  const texts = translations.map((translation) => (back ? translation.source_text : translation.text));
  const tokens = translations.map((translation) => (back ? translation.source : translation.target));
  return diffText(units, texts, tokens);
}

/** The unit that contains an item of A's axis, or null. */
export function unitOfItem(units, axis, translation, kind, displayOptions, position) {
  if (position === null) return null;
  const item = axes(translation, kind, displayOptions)[axis][position];
  const index = item ? units[axis].findIndex(({ places }) => places[0].some((token) => item.places.includes(token))) : -1;
  return index < 0 ? null : index;
}

/** The item of A's axis for a unit, or null if A lacks it. */
export function itemOfUnit(units, axis, translation, kind, displayOptions, unit) {
  if (unit === null) return null;
  const { places } = units[axis][unit];
  const index = axes(translation, kind, displayOptions)[axis].findIndex((item) => item.places.some((token) => places[0].includes(token)));
  return index < 0 ? null : index;
}

/** The cell {row, column, weight} at a row, a column or both; null if the map lacks the word. */
function findCell(units, weights, { row, column }) {
  const columnCount = units.columns.length;
  if (row === null && column === null) return null;
  const weightAt = (rowIndex, columnIndex) => weights[rowIndex * columnCount + columnIndex];
  const bestRow = row ?? argMax(units.rows.map((_, index) => weightAt(index, column)));
  const bestColumn = column ?? argMax(units.columns.map((_, index) => weightAt(bestRow, index)));
  const weight = weightAt(bestRow, bestColumn);
  return weight === weight ? { row: bestRow, column: bestColumn, weight } : null;
}

/** "A sleeping looks at schläft 0.99"; empty if nothing is highlighted. */
export function comparisonText(side, similarity, head, highlight) {
  const { units } = similarity;
  const weights = similarity.map(side, head);
  const isTransposed = similarity.back && side === 1; // the rows of a transposed map are its keys
  if (highlight.row === null && highlight.column === null) return [];
  const cell = findCell(units, weights, highlight);
  if (!cell) return [badge('AB'[side]), t('beside_no_such')];
  const name = (axis, index) => make('b', {}, make('bdi', {}, units[axis][index].label));
  const [row, column] = [name('rows', cell.row), name('columns', cell.column)];
  const sentence = fillElements(t('looks_at'), isTransposed ? { query: column, key: row } : { query: row, key: column });
  return [badge('AB'[side]), make('span', {}, ...sentence), make('span', { class: 'numeric' }, threeDecimals(cell.weight))];
}
