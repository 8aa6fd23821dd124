// Elements of tables whose rows are single lines on a wide page and two lines on a narrow one. ARIA roles are set because
// `display: grid` removes those of a table.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';

export const tableRow = (className, ...cells) => make('tr', { role: 'row', class: className }, ...cells);
export const tableCell = (className, ...children) => make('td', { role: 'cell', class: className }, ...children);
export const numberCell = (content) => tableCell('numeric', content);
export const rowHeader = (className, ...children) => make('th', { role: 'rowheader', scope: 'row', class: className }, ...children);

/** A column header with a title (a text or elements), and a description in small type below it. */
export const columnHeader = (className, title, description = '') =>
  make('th', { role: 'columnheader', scope: 'col', class: className }, make('b', {}, ...[title].flat()), make('small', {}, description));

/** Splits `count` keys into those with separate rows and those in one row: `{ listed: number[], collapsed: number[] }`. */
export function splitKeys(listed, count) {
  const listedKeys = new Set(listed);
  return { listed, collapsed: Array.from({ length: count }, (_, key) => key).filter((key) => !listedKeys.has(key)) };
}

/** The row header of a key: its token as a button that calls `choose(index)`. */
export function keyHeader(token, index, isSelected, choose) {
  const attributes = { type: 'button', 'aria-pressed': String(isSelected), title: token.full ?? token.label, data: { place: index } };
  const name = make('bdi', { class: token.special ? 'special' : '' }, token.label);
  return rowHeader('', make('button', { ...attributes, onclick: () => choose(index) }, name));
}

/** The row header of the collapsed keys: a button ("31 more") that lists them. */
export const collapsedHeader = (count, expand) =>
  rowHeader('', make('button', { type: 'button', onclick: expand }, t('why_more', { count })));
