// A matrix as a heatmap: coloured cells, row and column labels, numbers if they fit, and the value on hover.

import { make } from '../core/dom.js';
import { pageZoom } from '../core/page-zoom.js';
import { colour, cssColour, textColourOn } from '../core/theme.js';
import { formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { getColumnClass } from '../parts/column-name.js';
import { showTooltip, valueColour, hideTooltip } from '../parts/tooltip.js';
import { maxAbs } from './tensor-cache.js';

const MIN_NUMBER_WIDTH = 31; // pixels of a cell with a number
const MIN_LABEL_WIDTH = 11; // pixels per column label; narrower columns skip labels
const MIN_GRID_WIDTH = 13; // pixels of a cell with grid lines

/**
 * @param {{
 *   matrix: import('./tensor-cache.js').Matrix, width: number, name: string,
 *   rows?: { names: string[], indices: number[], elements?: HTMLElement[] }, columns?: { names: string[], indices: number[] } | null,
 *   scale?: 'signed' | 'share' | 'positive', most?: number, height?: number, widest?: number, label?: number,
 *   row?: number | null, column?: number | null, band?: [number, number] | null, masked?: ((row: number, column: number) => boolean) | null,
 *   digits?: number, bare?: boolean, pick?: (row: number | null, column: number | null) => void,
 * }} options `rows` and `columns`: names and indices of the visible cells; `most`: the number with the
 *   last colour; `height`, `widest`, `label`: height and maximum width of a cell and width of the row names, in pixels; `band`:
 *   first and last column of a frame; `bare`: names only in the tooltip
 */
export function heatmap({ matrix, width, name, scale = 'signed', digits = 0, label = 76, ...options }) {
  const rows = options.rows ?? { names: [], indices: Array.from({ length: matrix.rows }, (_, row) => row) };
  const columnIndices = options.columns?.indices ?? Array.from({ length: matrix.columns }, (_, column) => column);
  const maxValue = options.most || maxAbs(matrix.numbers) || 1;
  const labelWidth = rows.names.length && !options.bare ? label : 0;
  const cell = Math.min(options.widest ?? Infinity, Math.max(1, width - labelWidth) / columnIndices.length);
  const height = options.height ?? Math.min(34, Math.max(20, cell));
  const box = make('div', { class: 'lesson-heat', style: `--cell:${cell}px;--line:${height}px;--aside:${labelWidth}px` });
  const size = { width: cell * columnIndices.length, height: height * rows.indices.length };
  const pick = options.pick ?? null;

  if (options.columns?.names.length && !options.bare) {
    const interval = Math.ceil(MIN_LABEL_WIDTH / cell);
    const labels = options.columns.names.map((text, index) => {
      const column = options.columns.indices[index];
      const label = index % interval && column !== options.column ? '' : text;
      const attributes = { class: `above ${getColumnClass(label)}${column === options.column ? ' chosen' : ''}`, style: `width:${cell}px` };
      if (pick) attributes.onclick = () => pick(null, column);
      return make('span', attributes, make('bdi', {}, label));
    });
    box.append(make('div', { class: 'names-above' }, ...labels));
  }
  if (rows.names.length && !options.bare) {
    const labels = rows.names.map((text, index) => {
      const row = rows.indices[index];
      const attributes = { class: `beside${row === options.row ? ' chosen' : ''}`, style: `height:${height}px`, title: text };
      if (pick) attributes.onclick = () => pick(row, null);
      return make('span', attributes, rows.elements?.[index] ?? make('bdi', {}, text));
    });
    box.append(make('div', { class: 'names-beside' }, ...labels));
  }

  const plane = make('div', { class: `plane${options.masked ? ' hatch' : ''}`, style: `width:${size.width}px;height:${size.height}px` });
  const canvas = paint({
    matrix,
    rows: rows.indices,
    columns: columnIndices,
    cell,
    height,
    most: maxValue,
    scale,
    digits,
    masked: options.masked ?? null,
  });
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', t('lesson_picture', { name, rows: rows.indices.length, columns: columnIndices.length }));
  plane.append(canvas);
  const row = rows.indices.indexOf(options.row);
  const column = columnIndices.indexOf(options.column);
  const bandStart = columnIndices.indexOf(options.band?.[0]);
  if (row >= 0 && column < 0) plane.append(frame(0, row * height, size.width, height));
  if (row >= 0 && column >= 0) plane.append(frame(column * cell, row * height, cell, height));
  if (bandStart >= 0) plane.append(frame(bandStart * cell, 0, (options.band[1] - options.band[0]) * cell, size.height));

  const cellUnder = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    const clamp = (number, count) => Math.max(0, Math.min(count - 1, Math.floor(number)));
    const [x, y] = [(event.clientX - left) / pageZoom(), (event.clientY - top) / pageZoom()];
    return [clamp(y / height, rows.indices.length), clamp(x / cell, columnIndices.length)];
  };
  plane.addEventListener('pointermove', (event) => {
    const [rowIndex, columnIndex] = cellUnder(event);
    const [row, column] = [rows.indices[rowIndex], columnIndices[columnIndex]];
    const value = options.masked?.(row, column) ? t('masked') : formatSigned(matrix.numbers[row * matrix.columns + column]);
    const labels = [rows.names[rowIndex], options.columns?.names[columnIndex] ?? t('lesson_dimension', { number: column })].filter(Boolean);
    showTooltip(event, `${labels.join(' · ')}: ${value}`);
  });
  plane.addEventListener('pointerleave', hideTooltip);
  if (pick) {
    plane.classList.add('picks');
    plane.addEventListener('click', (event) => {
      const [rowIndex, columnIndex] = cellUnder(event);
      hideTooltip();
      pick(rows.indices[rowIndex], columnIndices[columnIndex]);
    });
  }
  box.append(plane);
  return box;
}

function frame(left, top, width, height) {
  return make('i', {
    class: 'frame',
    style: `left:${left - 2}px;top:${top - 2}px;width:${Math.max(width, 3) + 3}px;height:${height + 3}px`,
  });
}

/** Paint the cells at the screen's resolution. If columns share a pixel, the value farthest from zero is painted last. */
function paint({ matrix, rows, columns, cell, height, most, scale, digits, masked }) {
  const scaleFactor = Math.min(2, devicePixelRatio || 1);
  const canvas = make('canvas', {
    width: Math.max(1, Math.round(cell * columns.length * scaleFactor)),
    height: Math.max(1, Math.round(height * rows.length * scaleFactor)),
  });
  const context = canvas.getContext('2d');
  const gridLine = cell >= MIN_GRID_WIDTH ? scaleFactor : 0;
  const background = colour('ground');
  const valueAt = (row, column) => matrix.numbers[row * matrix.columns + column];
  for (const [rowIndex, row] of rows.entries()) {
    const entries = [...columns.entries()];
    if (cell * scaleFactor < 1)
      entries.sort(([, columnA], [, columnB]) => Math.abs(valueAt(row, columnA)) - Math.abs(valueAt(row, columnB)));
    for (const [columnIndex, column] of entries) {
      if (masked?.(row, column)) continue;
      const left = Math.min(canvas.width - 1, Math.round(columnIndex * cell * scaleFactor));
      const right = Math.round((columnIndex + 1) * cell * scaleFactor);
      const [top, bottom] = [Math.round(rowIndex * height * scaleFactor), Math.round((rowIndex + 1) * height * scaleFactor)];
      if (masked) {
        context.fillStyle = background;
        context.fillRect(left, top, right - left, bottom - top);
      }
      const value = valueAt(row, column);
      const cellColour = valueColour(value, scale, most);
      context.fillStyle = cssColour(cellColour);
      context.fillRect(left, top, Math.max(1, right - left - gridLine), bottom - top - (height >= 8 ? scaleFactor : 0));
      if (!digits || cell < MIN_NUMBER_WIDTH) continue;
      context.fillStyle = textColourOn(cellColour);
      context.font = `${11 * scaleFactor}px ${getComputedStyle(document.body).getPropertyValue('--font')}`;
      context.textAlign = 'center';
      context.textBaseline = 'middle';
      context.fillText(formatSigned(value, digits), (left + right - gridLine) / 2, (top + bottom) / 2);
    }
  }
  return canvas;
}
