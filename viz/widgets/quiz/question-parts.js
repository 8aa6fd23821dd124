// The parts of a question that are also shown in the results and to a class: its text, tables and labels.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { formatNumber } from '../parts/sums.js';
import { hasCell } from './marking.js';

/** A label whose words that begin with @ are replaced by words in the page's language. */
export const labelText = (label) => label.replace(/@(\w+)/g, (_, name) => t(`quiz_word_${name}`));

const valueText = (value) => (typeof value === 'number' && !Number.isInteger(value) ? formatNumber(value) : labelText(String(value)));

/** The values of a phrase as texts. */
export const valueTexts = ({ values }) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, valueText(value)]));

/** The question's text with its words and numbers in bold. */
export function questionText(item, question) {
  const texts = valueTexts(question);
  const pieces = t(`quiz_ask_${item}`).split(/\{(\w+)\}/); // texts and names alternate; a name may occur twice
  return pieces.map((piece, index) => (index % 2 ? make('b', {}, texts[piece]) : piece));
}

/** A label; a Chinese word has its translation below. */
export function labelElement(label, glosses) {
  const gloss = glosses[label];
  const code = /[()]/.test(label) ? 'code' : 'span';
  return make('span', { class: 'quiz-label' }, make(code, {}, labelText(label)), gloss ? make('small', {}, gloss) : null);
}

/** A table of numbers. */
export function numberTable({ rows, columns, cells }, glosses) {
  const header = columns.map((column) => make('th', { scope: 'col' }, labelElement(column, glosses)));
  const body = rows.map((row, index) => {
    const numbers = cells[index].map((number) => make('td', {}, formatNumber(number)));
    return make('tr', {}, make('th', { scope: 'row' }, labelElement(row, glosses)), ...numbers);
  });
  return make('table', { class: 'quiz-table' }, make('thead', {}, make('tr', {}, make('td', {}), ...header)), make('tbody', {}, ...body));
}

/** A grid of the question with an element for each cell: `cell(row, column)`. */
export function grid({ rows, columns }, glosses, cell) {
  const header = columns.map((column) => make('th', { scope: 'col' }, labelElement(column, glosses)));
  const body = rows.map((label, row) => {
    const cells = columns.map((_, column) => make('td', {}, cell(row, column)));
    return make('tr', {}, make('th', { scope: 'row' }, labelElement(label, glosses)), ...cells);
  });
  return make('table', { class: 'quiz-grid' }, make('thead', {}, make('tr', {}, make('td', {}), ...header)), make('tbody', {}, ...body));
}

/** The grid of a question with these cells marked. */
export const filledGrid = (question, cells, glosses) =>
  grid(question, glosses, (row, column) => make('i', { class: hasCell(cells, row, column) ? 'on' : '' }));

/** The grid of a question as a small image, with these cells marked. */
export function smallGrid({ rows, columns }, cells, label) {
  const marks = rows.flatMap((_, row) => columns.map((__, column) => make('i', { class: hasCell(cells, row, column) ? 'on' : '' })));
  const style = `grid-template-columns: repeat(${columns.length}, 11px)`;
  return make('span', { class: 'quiz-small-grid', role: 'img', 'aria-label': label, style }, ...marks);
}

/** The tables of a question. */
export const tables = (question, glosses) => question.tables.map((table) => numberTable(table, glosses));
