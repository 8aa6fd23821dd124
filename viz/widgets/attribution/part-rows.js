// Parts of a sum as rows, each with its name, a bar to the left or right of zero, and its value. Rows that can be opened are
// buttons.

import { make } from '../core/dom.js';
import { formatEffect } from '../core/map-view.js';

/**
 * @param {any[]} parts {label, value, special?, constant?, total?, layer?, column?}; with `onOpen`, those that have a `layer` or
 *   `column` are buttons
 * @param {{ onOpen?: (part: any) => void, isOpen?: (part: any) => boolean }} actions
 */
export function partRows(parts, { onOpen, isOpen = () => false } = {}) {
  const maxValue = Math.max(...parts.map(({ value }) => Math.abs(value)), 1e-9);
  return parts.map((part) => {
    const { label, value, constant, total, special } = part;
    const side = constant ? 'constant' : value < 0 ? 'against' : 'for';
    const width = (50 * Math.abs(value)) / maxValue;
    const bar = make('i', { class: side, style: `left:${value < 0 ? 50 - width : 50}%;width:${width}%` });
    const cells = [
      make('bdi', { class: special ? 'special' : '' }, label),
      make('span', { class: 'track' }, bar),
      make('span', { class: 'numeric' }, formatEffect(value)),
    ];
    const rowClass = total ? 'row total' : 'row';
    if (!onOpen || (part.column === undefined && part.layer === undefined)) return make('div', { class: rowClass }, ...cells);
    return make('button', { type: 'button', class: rowClass, 'aria-pressed': String(isOpen(part)), onclick: () => onOpen(part) }, ...cells);
  });
}
