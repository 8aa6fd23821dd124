// Exports the player as an animated GIF: one frame per word, rendered in the browser with the page's colours.

import { state } from '../core/state.js';
import { shownHead } from '../core/store.js';
import { colour, cssColour, scaleColour } from '../core/theme.js';
import { nearestHead, colourLevel, rowMaximum, view } from '../core/map-view.js';
import { isUpright } from '../parts/column-name.js';
import { encodeGif } from '../parts/gif.js';
import { headName } from '../parts/head-names.js';
import { findTokenRow, countWrittenCells } from '../headview/unwritten.js';
import { getRowEnds } from './player.js';

const FRAME_MS = 650; // milliseconds per word
const LAST_FRAME_MS = 2600; // milliseconds of the last frame, which shows the whole translation
const [MIN_CELL_SIZE, MAX_CELL_SIZE] = [9, 34]; // pixels
const MAX_MAP_WIDTH = 720; // pixels; long sentences exceed it, because cells have a minimum width
const [LABEL_WIDTH, TWO_WORD_LABEL_WIDTH] = [132, 228]; // width of row labels with one and with two words, in pixels
const MARGIN = 24; // pixels
const [TITLE_HEIGHT, LINE_HEIGHT, COLUMN_LABEL_HEIGHT] = [34, 34, 108]; // heights in pixels: head's name, line of the translation, column labels
const FONT = 'system-ui, "Segoe UI", "Noto Sans", "Noto Sans CJK SC", sans-serif';
const MAX_PIXELS = 60_000_000; // in all frames; for long translations, each frame adds several words

const setFont = (context, size, weight = 400) => (context.font = `${weight} ${size}px ${FONT}`);

/** Renders the current view. Returns the file name and the parts of the file. */
export async function renderGif() {
  const { translation } = state;
  const head = nearestHead(translation, state.kind, shownHead(state));
  const map = view(translation, state.kind, head.layer, head.head, state);
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const layout = computeLayout(context, translation, map);
  Object.assign(canvas, { width: layout.width, height: layout.height });
  const frames = [];
  const words = getRowEnds(translation, state);
  const interval = Math.ceil((words.length * layout.width * layout.height) / MAX_PIXELS);
  const counts = words.filter((_, position) => (words.length - 1 - position) % interval === 0);
  for (const [index, count] of counts.entries()) {
    const isLast = index === counts.length - 1;
    drawFrame(context, layout, { translation, map, count: isLast ? null : count, token: count - 1 });
    frames.push({ pixels: context.getImageData(0, 0, layout.width, layout.height).data, delay: isLast ? LAST_FRAME_MS : FRAME_MS });
    await new Promise((done) => setTimeout(done)); // keeps the page responsive
  }
  const label = (number) => (typeof number === 'number' ? number + 1 : number);
  const name = `headlight-${state.kind}-${label(head.layer)}-${label(head.head)}.gif`;
  return { name, parts: encodeGif(frames, layout.width, layout.height) };
}

/** Layout of all frames, in pixels; `lines`: the wrapped translation. */
function computeLayout(context, translation, { rows, columns }) {
  const cell = Math.max(MIN_CELL_SIZE, Math.min(MAX_CELL_SIZE, Math.floor(MAX_MAP_WIDTH / columns.length)));
  const names = rows.some(({ read }) => read) ? TWO_WORD_LABEL_WIDTH : LABEL_WIDTH;
  const width = Math.max(480, 2 * MARGIN + names + columns.length * cell);
  setFont(context, 22);
  const lines = wrapTranslation(context, translation, width - 2 * MARGIN);
  const top = MARGIN + TITLE_HEIGHT + lines.length * LINE_HEIGHT + COLUMN_LABEL_HEIGHT;
  return { cell, width, lines, top, left: MARGIN + names, height: top + rows.length * cell + MARGIN };
}

/** Wraps the translation into lines of pieces {text, tokenIndex}; a piece is visible if more than `tokenIndex` tokens are written. */
function wrapTranslation(context, { target, text }, width) {
  const lines = [[]];
  let [end, lineWidth] = [0, 0];
  for (const [index, token] of target.entries()) {
    if (token.special || token.end <= end) continue;
    const piece = text.slice(end, token.end);
    const pieceWidth = context.measureText(piece).width;
    if (lineWidth + pieceWidth > width && lineWidth > 0) {
      lines.push([]);
      lineWidth = 0;
    }
    lines.at(-1).push({ text: lineWidth ? piece : piece.trimStart(), tokenIndex: index });
    lineWidth += pieceWidth;
    end = token.end;
  }
  return lines;
}

function drawFrame(context, layout, { translation, map, count, token }) {
  const { width, height } = layout;
  const visible = countWrittenCells(translation, map, count);
  context.fillStyle = colour('ground');
  context.fillRect(0, 0, width, height);
  context.textBaseline = 'alphabetic';
  context.textAlign = 'left';
  setFont(context, 16, 600);
  context.fillStyle = colour('ink');
  context.fillText(headName(map.layer, map.head), MARGIN, MARGIN + 14);
  drawText(context, layout, count === null ? Number.POSITIVE_INFINITY : count, token);
  drawCells(context, layout, map, visible);
  drawNames(context, layout, map, visible, count === null ? null : findTokenRow(map, token));
}

function drawText(context, { lines }, count, token) {
  for (const [line, pieces] of lines.entries()) {
    let left = MARGIN;
    for (const { text, tokenIndex } of pieces) {
      if (tokenIndex >= count) return;
      setFont(context, 22);
      context.fillStyle = colour(count !== Number.POSITIVE_INFINITY && tokenIndex === token ? 'accent' : 'ink');
      context.fillText(text, left, MARGIN + TITLE_HEIGHT + line * LINE_HEIGHT + 22);
      left += context.measureText(text).width;
    }
  }
}

function drawCells(context, { cell, left, top }, map, visible) {
  const { rows, columns, weights } = map;
  const gap = cell >= 13 ? 1 : 0;
  for (let row = 0; row < visible.rows; row++) {
    const maxWeight = state.scale === 'row' ? rowMaximum(map, row) : 1;
    for (let column = 0; column < columns.length; column++) {
      const weight = weights[row * columns.length + column];
      context.fillStyle =
        weight === weight ? cssColour(scaleColour(state.palette, colourLevel(weight, maxWeight, state.scale))) : colour('masked');
      context.fillRect(left + column * cell, top + row * cell, cell - gap, cell - gap);
    }
  }
  context.fillStyle = colour('ground');
  if (visible.rows < rows.length)
    context.fillRect(left, top + visible.rows * cell, columns.length * cell, (rows.length - visible.rows) * cell);
}

function drawNames(context, { cell, left, top }, { rows, columns }, visible, highlightedRow) {
  const size = Math.min(14, cell);
  const shorten = (text) => ([...text].length > 13 ? `${[...text].slice(0, 12).join('')}…` : text);
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (const [row, item] of rows.entries()) {
    if (row >= visible.rows) break;
    setFont(context, size, row === highlightedRow ? 700 : 400);
    context.fillStyle = colour(row === highlightedRow ? 'accent' : 'ink');
    const [name, middle] = [shorten(item.label), top + (row + 0.5) * cell];
    context.fillText(name, left - 8, middle);
    if (!item.read) continue;
    const right = left - 8 - context.measureText(name).width;
    setFont(context, size);
    context.fillStyle = colour('ink-3');
    context.fillText(`${shorten(item.read.label)} → `, right, middle);
  }
  setFont(context, size);
  context.textAlign = 'left';
  context.fillStyle = colour('ink-2');
  for (const [column, { label }] of columns.entries()) {
    if (column >= visible.columns) break;
    const centre = left + (column + 0.5) * cell;
    if (isUpright(label)) drawUpright(context, shorten(label), { centre, bottom: top - 8, size });
    else drawRotated(context, shorten(label), centre, top - 8);
  }
  if (highlightedRow === null) return;
  context.strokeStyle = colour('accent');
  context.lineWidth = 2;
  context.strokeRect(left - 1, top + highlightedRow * cell - 1, columns.length * cell + 1, cell + 1);
}

function drawRotated(context, text, centre, bottom) {
  context.save();
  context.translate(centre, bottom);
  context.rotate(-Math.PI / 2);
  context.fillText(text, 0, 0);
  context.restore();
}

/** Draws characters vertically, aligned to the bottom. Long texts are truncated. */
function drawUpright(context, text, { centre, bottom, size }) {
  const lineHeight = 1.1 * size;
  const maxLetters = Math.floor((COLUMN_LABEL_HEIGHT - 8) / lineHeight);
  const letters = [...text];
  const visible = letters.length > maxLetters ? [...letters.slice(0, maxLetters - 1), '⋮'] : letters;
  context.textAlign = 'center';
  for (const [index, letter] of visible.entries()) context.fillText(letter, centre, bottom - (visible.length - index - 0.5) * lineHeight);
  context.textAlign = 'left';
}
