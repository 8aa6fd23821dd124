// The map as an accessible table of numbers. Only the visible rows are rendered.

import { fadeScrollEdges, make, replace } from '../core/dom.js';
import { argMax, signed, threeDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { rowName, rowText } from '../parts/row-name.js';
import { NO_HIGHLIGHT } from './highlights.js';
import { hideUnwrittenLabels } from './unwritten.js';

const ROW_HEIGHT = 28; // pixels
const OVERSCAN_ROWS = 12; // rows rendered above and below the viewport
const MARK_CLASSES = ['lit', 'pinned-row', 'pinned-column'];

export class NumberTable {
  constructor() {
    this.marks = NO_HIGHLIGHT;
    this.body = make('tbody', {});
    this.head = make('thead', {});
    this.caption = make('caption', { class: 'hidden-text' });
    this.table = make('table', {}, this.caption, this.head, this.body);
    this.element = make('div', { class: 'numbers', tabindex: 0, role: 'region' }, this.table);
    this.element.addEventListener('scroll', () => this.renderVisible());
    fadeScrollEdges(this.element);
  }

  /** Shows one view, or the difference of A and B. */
  show(views, label) {
    this.views = views;
    const { rows, columns } = views[0];
    this.caption.textContent = label;
    this.element.setAttribute('aria-label', label);
    this.table.classList.toggle('late', Boolean(views[0].late));
    this.table.setAttribute('aria-rowcount', rows.length + 1);
    const names = columns.map((item, column) =>
      make('th', { scope: 'col', class: item.special ? 'special' : '', data: { column }, title: item.full }, item.label),
    );
    replace(this.head, make('tr', { 'aria-rowindex': 1 }, make('td', {}), ...names));
    this.renderedRange = '';
    this.renderVisible();
  }

  renderVisible() {
    const { rows } = this.views[0];
    const visibleCount = Math.ceil((this.element.clientHeight || 600) / ROW_HEIGHT);
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW_HEIGHT) - OVERSCAN_ROWS);
    const last = Math.min(rows.length, first + visibleCount + 2 * OVERSCAN_ROWS);
    if (this.renderedRange === `${first} ${last}`) return;
    this.renderedRange = `${first} ${last}`;
    const spacer = (count) => make('tr', { 'aria-hidden': 'true', style: `height:${count * ROW_HEIGHT}px` });
    const visibleRows = rows.slice(first, last).map((item, index) => this.row(item, first + index));
    replace(this.body, first ? spacer(first) : null, ...visibleRows, last < rows.length ? spacer(rows.length - last) : null);
    this.highlight(this.marks);
    if (this.drawnSize) this.hideUnwritten(this.drawnSize);
  }

  hideUnwritten(size) {
    this.drawnSize = size;
    hideUnwrittenLabels(this.table, size);
  }

  row(item, row) {
    const [view, other] = this.views;
    const width = view.columns.length;
    const cells = view.columns.map((_, column) => {
      const weight = view.weights[row * width + column] - (other ? other.weights[row * width + column] : 0);
      const text = weight !== weight ? '–' : other ? signed(weight, 3) : threeDecimals(weight);
      const name = weight !== weight ? { 'aria-label': t('masked') } : {};
      return make('td', { class: Math.abs(weight) >= 0.1 ? 'strong' : '', data: { row, column }, ...name }, text);
    });
    const name = make('th', { scope: 'row', class: item.special ? 'special' : '', data: { row }, title: rowText(item) }, rowName(item));
    return make('tr', { 'aria-rowindex': row + 2 }, name, ...cells);
  }

  /** The column of the largest weight in the pinned row. */
  strongest(rows) {
    if (!rows?.length) return null;
    const { weights, columns } = this.views[0];
    const row = weights.subarray(rows[0] * columns.length, (rows[0] + 1) * columns.length);
    return [argMax([...row])];
  }

  /** Scrolls to a column, once after each change of the pinned cell. */
  reveal(columns) {
    const key = String(columns);
    if (key === this.revealed) return;
    this.revealed = key;
    const cell = columns && this.head.querySelector(`[data-column="${columns[0]}"]`);
    if (!cell || !this.element.clientWidth) return;
    const [start, end] = [this.body.querySelector('th')?.offsetWidth ?? 0, this.element.clientWidth];
    const left = cell.offsetLeft - this.element.scrollLeft;
    if (left < start || left + cell.offsetWidth > end) this.element.scrollLeft = cell.offsetLeft - (start + end - cell.offsetWidth) / 2;
  }

  /** Marks the hovered and pinned rows and columns, with their headers. */
  highlight(marks) {
    this.marks = marks;
    for (const name of MARK_CLASSES) this.table.querySelectorAll(`.${name}`).forEach((cell) => cell.classList.remove(name));
    const mark = (axis, indices, name) => {
      for (const index of indices ?? [])
        this.table.querySelectorAll(`[data-${axis}="${index}"]`).forEach((cell) => cell.classList.add(name));
    };
    mark('row', marks.hover.rows, 'lit');
    mark('column', marks.hover.columns, 'lit');
    mark('row', marks.pinned.rows, 'pinned-row');
    mark('column', marks.pinned.columns, 'pinned-column');
    this.reveal(marks.pinned.columns ?? this.strongest(marks.pinned.rows));
  }
}
