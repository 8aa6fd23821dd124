// Table rows whose cells are columns on a wide page and two lines on a narrow one. ARIA roles are set because `display: grid`
// removes those of a table.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';

export const tableRow = (name, ...cells) => make('tr', { role: 'row', class: name }, ...cells);
export const tableCell = (name, ...children) => make('td', { role: 'cell', class: name }, ...children);
export const numberCell = (content) => tableCell('numeric', content);
export const rowHeader = (name, ...children) => make('th', { role: 'rowheader', scope: 'row', class: name }, ...children);

/** A column header: its name, with its content below. */
export const columnHeader = (name, title, below = '') =>
  make('th', { role: 'columnheader', scope: 'col', class: name }, make('b', {}, ...[title].flat()), make('small', {}, below));

/** Keys with a separate row, and collapsed keys: `{ listed: number[], collapsed: number[] }`. */
export function splitKeys(listed, count) {
  const indices = new Set(listed);
  return { listed, collapsed: Array.from({ length: count }, (_, key) => key).filter((key) => !indices.has(key)) };
}

/** A key's name as a button that selects it. */
export function keyName(token, index, isSelected, choose) {
  const attributes = { type: 'button', 'aria-pressed': String(isSelected), title: token.full ?? token.label, data: { place: index } };
  const name = make('bdi', { class: token.special ? 'special' : '' }, token.label);
  return rowHeader('', make('button', { ...attributes, onclick: () => choose(index) }, name));
}

/** A button ("31 more") that expands the collapsed keys. */
export const expandButton = (count, expand) => rowHeader('', make('button', { type: 'button', onclick: expand }, t('why_more', { count })));
