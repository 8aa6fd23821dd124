// Table rows whose cells are columns on a wide page and two lines on a narrow one. ARIA roles are set because `display: grid`
// removes those of a table.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';

export const tableRow = (name, ...cells) => make('tr', { role: 'row', class: name }, ...cells);
export const tableCell = (name, ...children) => make('td', { role: 'cell', class: name }, ...children);
export const numberCell = (content) => tableCell('numeric', content);
export const label = (name, ...children) => make('th', { role: 'rowheader', scope: 'row', class: name }, ...children);

/** A column header: its name, with its content below. */
export const columnHeader = (name, title, below = '') =>
  make('th', { role: 'columnheader', scope: 'col', class: name }, make('b', {}, ...[title].flat()), make('small', {}, below));

/** Keys with a separate row, and collapsed keys: `{ own: number[], rest: number[] }`. */
export function splitKeys(ownKeys, count) {
  const indices = new Set(ownKeys);
  return { own: ownKeys, rest: Array.from({ length: count }, (_, position) => position).filter((index) => !indices.has(index)) };
}

/** A key's name as a button that selects it. */
export function keyName(token, index, isSelected, choose) {
  const attributes = { type: 'button', 'aria-pressed': String(isSelected), title: token.full ?? token.label, data: { place: index } };
  const name = make('bdi', { class: token.special ? 'special' : '' }, token.label);
  return label('', make('button', { ...attributes, onclick: () => choose(index) }, name));
}

/** A button ("31 more") that expands the collapsed keys. */
export const restName = (count, open) => label('', make('button', { type: 'button', onclick: open }, t('why_more', { count })));
