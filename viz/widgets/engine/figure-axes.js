// Axis labels of a map: cell size, thinning and orientation. `viz/figures/axes.py` is the reference.

import { isEastAsian } from './characters.js';
import { plotlyText, textWidth, verticalText } from './figure-text.js';
import { tokenLabels } from './labels.js';

const MAX_LABELLED_TOKENS = 44; // above this number of tokens, only every tenth has a label
const [MAX_CELL, MAX_LENGTH] = [38, 680]; // pixels
const [LABEL, MIN_FONT] = [14, 11]; // pixels
const GAP = 10; // between labels and cells
export const MARGIN = 16; // around the figure
const MIN_LABELS = 84; // pixels of the row names

/**
 * @typedef {{ text: string, full: string, special: boolean, read: string }} Label `read`: what a decoder row has just read
 * @typedef {{ labels: Label[], positions: number[], cell: number, size: number, length: number, extent: number[], longest: number }} Axis
 *   `positions`: of visible labels; `cell`, `size`, `length`, `longest`: pixels of a token, of the font, of all cells, of a name
 */

/** @returns {Label[]} */
const makeLabels = (tokens) =>
  tokenLabels(tokens).map(({ text, full }, index) => ({ text, full, special: tokens[index].special, read: '' }));

/** @param {import('./attention-map.js').AttentionMap} map */
export const columnLabels = ({ columns }) => makeLabels(columns);

/** @param {import('./attention-map.js').AttentionMap} map */
export function rowLabels({ kind, rows, previous }) {
  const labels = makeLabels(rows);
  if (kind === 'encoder') return labels;
  return makeLabels(previous).map(({ text }, row) => ({ ...labels[row], read: `${text} → ` }));
}

/** The row and column axes of a map with square cells. @returns {[Axis, Axis]} */
export function mapAxes(map, maxLength = MAX_LENGTH, maxCell = MAX_CELL) {
  const count = Math.max(map.rows.length, map.columns.length);
  const fit = (labels) => fitLabels(labels, count, maxLength, maxCell);
  return [fit(rowLabels(map)), fit(columnLabels(map))];
}

function fitLabels(labels, count, maxLength, maxCell) {
  const exact = Math.min(maxCell, maxLength / Math.max(1, count));
  const cell = exact >= 12 ? Math.floor(exact) : exact;
  const isDense = labels.length > MAX_LABELLED_TOKENS;
  const space = isDense ? 10 * cell : cell; // one label per ten cells
  const size = space >= 20 ? LABEL : Math.max(MIN_FONT, Math.min(LABEL - 2, space - 1));
  const positions = [...labels.keys()].filter((position) => !isDense || position % 10 === 9);
  const axis = { labels, positions, cell, size, length: cell * labels.length, extent: [-0.5, Math.max(1, labels.length) - 0.5] };
  return { ...axis, longest: Math.max(0, ...positions.map((position) => textWidth(labelName(axis, position), size))) };
}

/** The name of a visible label; with its number if only every tenth is visible. */
function labelName({ labels }, position, convert = (text) => text) {
  const { read, text } = labels[position];
  const name = convert(read) + convert(text);
  return labels.length > MAX_LABELLED_TOKENS ? `${position + 1} ${name}` : name;
}

const isVertical = ({ labels }, position) => labels.length <= MAX_LABELLED_TOKENS && Array.from(labels[position].text).some(isEastAsian);

function ticks(axis, positions, theme) {
  return {
    tickmode: 'array',
    tickvals: positions,
    ticktext: positions.map((position) => labelName(axis, position, plotlyText)),
    tickfont: { size: axis.size, color: theme.ink_2 },
    ticklabelstandoff: GAP - 4,
  };
}

/** The axis of the rows, with the first row on top. */
export const rowsAxis = (axis, theme) => ({ range: [...axis.extent].reverse(), ...ticks(axis, axis.positions, theme) });

/** The axis of the columns, above the map, with rotated labels. */
export function columnsAxis(axis, theme) {
  const rotated = axis.positions.filter((position) => !isVertical(axis, position));
  return { range: axis.extent, side: 'top', tickangle: -90, ...ticks(axis, rotated, theme) };
}

/** Chinese, Japanese and Korean column labels, which read from top to bottom without rotation. */
export function verticalLabels(axis, theme, { x = 'x', y = 'y domain' } = {}) {
  return axis.positions
    .filter((position) => isVertical(axis, position))
    .map((position) => ({
      ...{ x: position, y: 1, xref: x, yref: y, text: verticalText(axis.labels[position].text) },
      ...{ yanchor: 'bottom', yshift: GAP - 4, showarrow: false, font: { size: axis.size, color: theme.ink_2 } },
    }));
}

/** The height of the column labels in pixels. */
export function columnsHeight(axis) {
  const height = (position) =>
    isVertical(axis, position)
      ? 1.3 * axis.size * Array.from(axis.labels[position].text).length
      : textWidth(labelName(axis, position), axis.size);
  return Math.max(0, ...axis.positions.map(height)) + GAP;
}

/** Pixels left of a map for the row names. */
export const leftMargin = (rows) => Math.ceil(Math.max(rows.longest, MIN_LABELS) + MARGIN + 12);

/** Pixels between cells; zero for small cells. */
export const cellGap = (...axes) => (Math.min(...axes.map(({ cell }) => cell)) >= 12 ? 1 : 0);
