// A diagram of a matrix product: the right matrix is above the result and the left matrix to the left of it, so that the
// row and the column of a cell meet in the cell.

import { fillElements, make, replace } from '../core/dom.js';
import { scaleColour } from '../core/theme.js';
import { formatNumber, countMatrixDecimals } from '../parts/sums.js';

const GAP_COLUMNS = 1; // empty grid columns between the left matrix and the result

/**
 * @typedef {object} Scheme
 * @property {number[][]} result
 * @property {(string | Node)[][]} rows names of the rows, each as children
 * @property {number[][]} [left]
 * @property {number[][]} [top]
 * @property {string[]} [topRows] names of the top matrix's rows
 * @property {string[]} [columns] names of the result's columns
 * @property {{ left?: (string | Node)[], top?: (string | Node)[], result?: (string | Node)[] }} [captions]
 * @property {number} [askingRow] the row that the reader calculates
 * @property {boolean} [whole] the left matrix has whole numbers
 * @property {boolean} [heat] colour the result as weights
 * @property {string} [size] an additional class name
 * @property {(row: number, column: number) => Node | null} [field] an input instead of a number
 * @property {(row: number, column: number) => string} cellName the name of a cell for screen readers
 */

/** Creates the element of a scheme. @param {Scheme} scheme */
export function productScheme(scheme) {
  const { left, top, result } = scheme;
  const leftColumns = left ? left[0].length : 0;
  const offset = leftColumns ? leftColumns + GAP_COLUMNS : 0;
  const leftTemplate = leftColumns ? `repeat(${leftColumns}, var(--cell)) 14px ` : '';
  const template = `max-content ${leftTemplate}repeat(${result[0].length}, var(--result, var(--cell)))`;
  const element = make('div', {
    class: `product ${scheme.size ?? ''}`,
    role: 'group',
    style: `grid-template-columns: ${template}`,
  });
  const gridPlace = (row, column, span = 1) => `grid-row: ${row}; grid-column: ${column} / span ${span}`;
  const first = 2 + offset; // first grid column of the result
  const topStart = scheme.columns ? 3 : 2;
  const { captions = {} } = scheme;
  if (captions.top) element.append(caption(captions.top, gridPlace(1, first, result[0].length)));
  scheme.columns?.forEach((name, column) => {
    const row = top ? 2 : 1;
    element.append(make('span', { class: 'column-word', data: { column: String(column) }, style: gridPlace(row, first + column) }, name));
  });
  if (top) element.append(...topCells(scheme, gridPlace, first, topStart));
  const resultStart = (top ? topStart + top.length : 1) + 1;
  element.append(make('span', { class: 'gap', style: gridPlace(resultStart - 1, 1) }));
  if (captions.left && left) element.append(caption(captions.left, gridPlace(resultStart - 1, 2, leftColumns)));
  if (captions.result) element.append(caption(captions.result, gridPlace(resultStart - 1, first, result[0].length)));
  element.append(...rowCells(scheme, gridPlace, first, resultStart));
  return element;
}

const caption = (children, style) => make('span', { class: 'matrix-name', style }, ...children);

/** @param {any} scheme */
function topCells({ top, topRows }, gridPlace, first, start) {
  const digits = Math.min(2, countMatrixDecimals(top));
  return top.flatMap((row, index) => [
    topRows
      ? make('span', { class: 'row-word top-row', style: `grid-row: ${start + index}; grid-column: 1 / ${first}` }, topRows[index])
      : '',
    ...row.map((number, column) =>
      make(
        'span',
        { class: 'cell above', data: { top: String(column) }, style: gridPlace(start + index, first + column) },
        formatNumber(number, digits),
      ),
    ),
  ]);
}

function rowCells(scheme, gridPlace, first, start) {
  const { left, result, rows, askingRow } = scheme;
  const digits = Math.min(2, countMatrixDecimals(result));
  const leftDigits = left && !scheme.whole ? Math.min(2, countMatrixDecimals(left)) : 0;
  return result.flatMap((numbers, row) => [
    make(
      'span',
      { class: `row-word ${row === askingRow ? 'asking' : ''}`, data: { row: String(row) }, style: gridPlace(start + row, 1) },
      ...rows[row],
    ),
    ...(left ?? [])
      .slice(row, row + 1)
      .flatMap((leftRow) =>
        leftRow.map((number, column) =>
          make(
            'span',
            { class: 'cell', data: { left: String(row) }, style: gridPlace(start + row, 2 + column) },
            formatNumber(number, leftDigits),
          ),
        ),
      ),
    ...numbers.map((number, column) => resultCell(scheme, row, column, number, digits, gridPlace(start + row, first + column))),
  ]);
}

function resultCell(scheme, row, column, number, digits, style) {
  const cell = `${row},${column}`;
  const field = scheme.field?.(row, column);
  if (field) return make('span', { class: 'cell has-field', data: { cell }, style }, field);
  const text = formatNumber(number, digits);
  return make(
    'span',
    {
      class: 'cell result',
      role: 'img',
      'aria-label': `${scheme.cellName(row, column)}: ${text}`,
      tabindex: row + column ? '-1' : '0',
      data: { cell },
      style: scheme.heat ? `${style}; ${heatStyle(number)}` : style,
    },
    text,
  );
}

/** Background and readable text of a weight. */
export function heatStyle(weight) {
  const [red, green, blue] = scaleColour('headlight', Math.max(0, Math.min(1, weight)));
  const isLight = 0.299 * red + 0.587 * green + 0.114 * blue > 140;
  return `background: rgb(${red} ${green} ${blue}); color: ${isLight ? '#14181d' : '#fdfdfc'}`;
}

/** Highlights the row, the column and the cell at `position`, `[row, column]`; null removes the highlight. */
export function highlightCell(element, position) {
  for (const cell of element.querySelectorAll('.lit, .at')) cell.classList.remove('lit', 'at');
  if (!position) return;
  const [row, column] = position;
  const selectors = [`[data-left="${row}"]`, `[data-top="${column}"]`, `[data-column="${column}"]`];
  for (const cell of element.querySelectorAll(selectors.join())) cell.classList.add('lit');
  element.querySelector(`[data-cell="${row},${column}"]`)?.classList.add('at');
}

/** Three matrices in a row: a + b = sum, with fields in the asking row. */
export function additionScheme({ a, b, sum, rows, askingRow, names, field, cellName }) {
  const width = a[0].length;
  const addend = `repeat(${width}, var(--cell)) 18px`;
  const element = make('div', {
    class: 'product addition',
    role: 'group',
    style: `grid-template-columns: max-content ${addend} ${addend} repeat(${width}, var(--result, var(--cell)))`,
  });
  const heads = names.flatMap((name, index) => [
    make('span', { class: index ? 'sign head' : 'head' }),
    make('span', { class: 'matrix-name head', style: `grid-column: span ${width}` }, name),
  ]);
  element.append(...heads);
  rows.forEach((row, index) => {
    const numbers = (matrix, kind) =>
      matrix[index].map((number, column) =>
        make('span', { class: 'cell', data: { [kind]: `${index},${column}` } }, formatNumber(number, countMatrixDecimals([[number]]))),
      );
    const sums = sum[index].map((number, column) => {
      const scheme = { field, cellName };
      return resultCell(scheme, index, column, number, countMatrixDecimals([[number]]), '');
    });
    element.append(
      make('span', { class: `row-word ${index === askingRow ? 'asking' : ''}` }, ...row),
      ...numbers(a, 'a'),
      make('span', { class: 'sign', data: { name: names[1] } }, '+'),
      ...numbers(b, 'b'),
      make('span', { class: 'sign', data: { name: names[2] } }, '='),
      ...sums,
    );
  });
  return element;
}

/** Highlights a cell and the two numbers whose sum it shows. */
export function highlightAddends(element, position) {
  highlightCell(element, position);
  if (!position) return;
  const cell = position.join();
  for (const number of element.querySelectorAll(`[data-a="${cell}"], [data-b="${cell}"]`)) number.classList.add('lit');
}

/** Text with subscripts after an underscore, "W_O" → W with a subscript O, and with elements for `{name}`. */
export function withSubscripts(element, text, parts = {}) {
  const lower = (piece) => (piece.startsWith('_') ? make('sub', {}, piece.slice(1)) : piece);
  const pieces = fillElements(text, parts).flatMap((piece) =>
    typeof piece === 'string' ? piece.split(/(_[A-Za-z0-9]+)/).map(lower) : [piece],
  );
  return replace(element, ...pieces);
}

/** A matrix's name with its shape. */
export const matrixName = (name, shape = '') => {
  const element = withSubscripts(make('span', {}), name);
  return [element, ...(shape ? [make('i', {}, ` ${shape}`)] : [])];
};
