// A matrix as a heatmap: coloured cells, row and column labels, numbers if they fit, and the value on hover.

import { make } from '../core/dom.js';
import { pageZoom } from '../core/page-zoom.js';
import { colour, cssColour, textColourOn } from '../core/theme.js';
import { formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { columnClass } from '../parts/column-name.js';
import { showTooltip, valueColour, hideTooltip } from '../parts/tooltip.js';
import { maxAbs } from './tensor-cache.js';

const NUMBER_MIN_WIDTH = 31; // pixels that a cell needs for its number
const LABEL_MIN_WIDTH = 11; // pixels that a name needs above its column: of narrower ones, every second or third is named
const GRID_MIN_WIDTH = 13; // pixels from which cells are parted by a line

/**
 * @param {{
 *   matrix: import('./tensor-cache.js').Matrix, width: number, name: string,
 *   rows?: { names: string[], places: number[] }, columns?: { names: string[], places: number[] } | null,
 *   scale?: 'signed' | 'share' | 'positive', most?: number, height?: number, widest?: number, label?: number,
 *   row?: number | null, column?: number | null, band?: [number, number] | null, masked?: ((row: number, column: number) => boolean) | null,
 *   digits?: number, bare?: boolean, pick?: (row: number | null, column: number | null) => void,
 * }} given `rows` and `columns`: what is shown of the matrix, by its places; `bare`: their names are said under the pointer only
 */
export function heatmap({ matrix, width, name, scale = 'signed', digits = 0, label = 76, ...given }) {
  const rows = given.rows ?? { names: [], places: Array.from({ length: matrix.rows }, (_, row) => row) };
  const shownColumns = given.columns?.places ?? Array.from({ length: matrix.columns }, (_, column) => column);
  const most = given.most || maxAbs(matrix.numbers) || 1;
  const aside = rows.names.length && !given.bare ? label : 0;
  const cell = Math.min(given.widest ?? Infinity, Math.max(1, width - aside) / shownColumns.length);
  const height = given.height ?? Math.min(34, Math.max(20, cell));
  const box = make('div', { class: 'lesson-heat', style: `--cell:${cell}px;--line:${height}px;--aside:${aside}px` });
  const size = { width: cell * shownColumns.length, height: height * rows.places.length };
  const pick = given.pick ?? null;

  if (given.columns?.names.length && !given.bare) {
    const every = Math.ceil(LABEL_MIN_WIDTH / cell);
    const labels = given.columns.names.map((text, place) => {
      const at = given.columns.places[place];
      const named = place % every && at !== given.column ? '' : text;
      const attributes = { class: `above ${columnClass(named)}${at === given.column ? ' chosen' : ''}`, style: `width:${cell}px` };
      if (pick) attributes.onclick = () => pick(null, at);
      return make('span', attributes, make('bdi', {}, named));
    });
    box.append(make('div', { class: 'names-above' }, ...labels));
  }
  if (rows.names.length && !given.bare) {
    const labels = rows.names.map((text, place) => {
      const at = rows.places[place];
      const attributes = { class: `beside${at === given.row ? ' chosen' : ''}`, style: `height:${height}px`, title: text };
      if (pick) attributes.onclick = () => pick(at, null);
      return make('span', attributes, make('bdi', {}, text));
    });
    box.append(make('div', { class: 'names-beside' }, ...labels));
  }

  const plane = make('div', { class: `plane${given.masked ? ' hatch' : ''}`, style: `width:${size.width}px;height:${size.height}px` });
  const canvas = paint({
    matrix,
    rows: rows.places,
    columns: shownColumns,
    cell,
    height,
    most,
    scale,
    digits,
    masked: given.masked ?? null,
  });
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', t('lesson_picture', { name, rows: rows.places.length, columns: shownColumns.length }));
  plane.append(canvas);
  const row = rows.places.indexOf(given.row);
  const column = shownColumns.indexOf(given.column);
  const from = shownColumns.indexOf(given.band?.[0]);
  if (row >= 0 && column < 0) plane.append(frame(0, row * height, size.width, height));
  if (row >= 0 && column >= 0) plane.append(frame(column * cell, row * height, cell, height));
  if (from >= 0) plane.append(frame(from * cell, 0, (given.band[1] - given.band[0]) * cell, size.height));

  const under = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    const within = (number, count) => Math.max(0, Math.min(count - 1, Math.floor(number)));
    const [across, down] = [(event.clientX - left) / pageZoom(), (event.clientY - top) / pageZoom()];
    return [within(down / height, rows.places.length), within(across / cell, shownColumns.length)];
  };
  plane.addEventListener('pointermove', (event) => {
    const [at, across] = under(event);
    const [place, over] = [rows.places[at], shownColumns[across]];
    const value = given.masked?.(place, over) ? t('masked') : formatSigned(matrix.numbers[place * matrix.columns + over]);
    const where = [rows.names[at], given.columns?.names[across] ?? t('lesson_dimension', { number: over })].filter(Boolean);
    showTooltip(event, `${where.join(' · ')}: ${value}`);
  });
  plane.addEventListener('pointerleave', hideTooltip);
  if (pick) {
    plane.classList.add('picks');
    plane.addEventListener('click', (event) => {
      const [at, across] = under(event);
      hideTooltip();
      pick(rows.places[at], shownColumns[across]);
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

/** The cells, as sharp as the screen. Of columns that share a pixel the value farthest from zero is seen: few neurons fire. */
function paint({ matrix, rows, columns, cell, height, most, scale, digits, masked }) {
  const sharp = Math.min(2, devicePixelRatio || 1);
  const canvas = make('canvas', {
    width: Math.max(1, Math.round(cell * columns.length * sharp)),
    height: Math.max(1, Math.round(height * rows.length * sharp)),
  });
  const context = canvas.getContext('2d');
  const line = cell >= GRID_MIN_WIDTH ? sharp : 0;
  const ground = colour('ground');
  const valueAt = (row, column) => matrix.numbers[row * matrix.columns + column];
  for (const [down, row] of rows.entries()) {
    const places = [...columns.entries()];
    if (cell * sharp < 1) places.sort(([, one], [, other]) => Math.abs(valueAt(row, one)) - Math.abs(valueAt(row, other)));
    for (const [across, column] of places) {
      if (masked?.(row, column)) continue;
      const left = Math.min(canvas.width - 1, Math.round(across * cell * sharp));
      const right = Math.round((across + 1) * cell * sharp);
      const [top, bottom] = [Math.round(down * height * sharp), Math.round((down + 1) * height * sharp)];
      if (masked) {
        context.fillStyle = ground;
        context.fillRect(left, top, right - left, bottom - top);
      }
      const value = valueAt(row, column);
      const tone = valueColour(value, scale, most);
      context.fillStyle = cssColour(tone);
      context.fillRect(left, top, Math.max(1, right - left - line), bottom - top - (height >= 8 ? sharp : 0));
      if (!digits || cell < NUMBER_MIN_WIDTH) continue;
      context.fillStyle = textColourOn(tone);
      context.font = `${11 * sharp}px ${getComputedStyle(document.body).getPropertyValue('--font')}`;
      context.textAlign = 'center';
      context.textBaseline = 'middle';
      context.fillText(formatSigned(value, digits), (left + right - line) / 2, (top + bottom) / 2);
    }
  }
  return canvas;
}
