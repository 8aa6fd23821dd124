// Lines of a table whose cells stand in columns on a wide page and in two lines on a narrow one. Roles are named, since a
// grid takes them from tables.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';

export const tableRow = (name, ...cells) => make('tr', { role: 'row', class: name }, ...cells);
export const tableCell = (name, ...inside) => make('td', { role: 'cell', class: name }, ...inside);
export const numberCell = (says) => tableCell('numeric', says);
export const label = (name, ...inside) => make('th', { role: 'rowheader', scope: 'row', class: name }, ...inside);

/** The head of a column: its name, and below it what it holds. */
export const columnHeader = (name, above, below = '') =>
  make('th', { role: 'columnheader', scope: 'col', class: name }, make('b', {}, ...[above].flat()), make('small', {}, below));

/** Keys shown in rows of their own, and keys that are collapsed: `{ own: number[], rest: number[] }`. */
export function splitKeys(own, count) {
  const shown = new Set(own);
  return { own, rest: Array.from({ length: count }, (_, place) => place).filter((place) => !shown.has(place)) };
}

/** The name of a key, which chooses it. */
export function keyName(token, place, chosen, choose) {
  const about = { type: 'button', 'aria-pressed': String(chosen), title: token.full ?? token.label, data: { place } };
  const name = make('bdi', { class: token.special ? 'special' : '' }, token.label);
  return label('', make('button', { ...about, onclick: () => choose(place) }, name));
}

/** "31 more": pressed, each of them gets a line. */
export const restName = (count, open) => label('', make('button', { type: 'button', onclick: open }, t('why_more', { count })));
