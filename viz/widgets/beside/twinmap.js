// A map in which several rows or columns may be lit at once: one token of a model can be three of the other.

import { make } from '../core/dom.js';
import { level, merged, strongest, three } from '../core/view.js';
import { t } from '../core/words.js';
import { Heatmap, paint } from '../parts/heatmap.js';

/** Which rows and columns are meant; null where none is, an empty list where the one that is meant has no partner. */
export const NOTHING = { rows: null, columns: null };
export const any = ({ rows, columns }) => Boolean(rows?.length || columns?.length);

/** The same as the table of numbers takes it. */
export const looking = ([hover, pinned]) => ({
  hoverRow: hover.rows,
  hoverColumn: hover.columns,
  row: pinned.rows,
  column: pinned.columns,
});

/** What the lit rows hold of each column, or each row of the lit columns: sums over columns, means over rows. */
export function litWeights(view, { rows, columns }) {
  const map = { weights: view.weights, columns: view.columns.length };
  const each = (items, weigh) => Float32Array.from(items, (_, place) => weigh(place));
  if (rows?.length) return { columns: each(view.columns, (column) => merged(map, rows, [column])) };
  if (columns?.length) return { rows: each(view.rows, (row) => merged(map, [row], columns)) };
  return {};
}

/** The same as strengths from 0 to 1, for shading. */
export function litLevels(view, marks) {
  const scaled = (weights) => {
    const most = Math.max(1e-9, ...Array.from(weights, (weight) => weight || 0));
    return Array.from(weights, (weight) => level(weight, most));
  };
  return Object.fromEntries(Object.entries(litWeights(view, marks)).map(([axis, weights]) => [axis, scaled(weights)]));
}

const FEW = 24; // rows: so many keep their labels however many columns there are
const LINE = 20; // pixels of such a row

/** `nameOf(axis, places)`: what several neighbours read together. */
export class TwinMap extends Heatmap {
  constructor(plotly, { nameOf = null, ...options } = {}) {
    super(plotly, options);
    this.nameOf = nameOf;
    this.names = { rows: make('div', { class: 'together before' }), columns: make('div', { class: 'together above' }) };
    this.plane.append(...Object.values(this.names));
  }

  measure(width) {
    super.measure(width);
    this.low = this.tiny && this.view.rows.length <= FEW;
    if (this.low) this.cellHeight = LINE;
  }

  drawLabels() {
    super.drawLabels();
    if (this.low) this.rows.querySelectorAll('.tick').forEach((tick) => tick.remove());
  }

  /** Shade the labels by what is lit, frame the rows and columns under the pointer and the pinned ones. */
  mark(hover, pinned) {
    const now = any(hover) ? hover : pinned;
    const lit = this.difference ? {} : litLevels(this.view, now);
    for (const axis of ['rows', 'columns']) {
      const meant = now[axis]?.length ? now[axis] : lit[axis] ? [strongest(lit[axis])] : [];
      const named = this.tiny && meant.length > 1 && this.nameOf; // labels of tiny neighbours would cover each other
      const focus = new Set(named ? [] : meant);
      this.nameTogether(axis, named ? meant : []);
      for (const label of this[axis].querySelectorAll('.label')) {
        const place = Number(label.dataset[axis === 'rows' ? 'row' : 'column']);
        paint(label, lit[axis]?.[place]);
        label.classList.toggle('chosen', Boolean(now[axis]?.includes(place)));
        label.classList.toggle('dim', this.tiny && !(axis === 'rows' && this.low) && !focus.has(place));
      }
    }
    this.grid.classList.toggle('lit', any(now));
    const same = (axis) => String(hover[axis]) === String(pinned[axis]);
    this.frame('row', pinned.rows);
    this.frame('column', pinned.columns);
    this.frame('hoverRow', same('rows') ? null : hover.rows);
    this.frame('hoverColumn', same('columns') ? null : hover.columns);
    this.placeTag(now.rows?.[0] ?? null, now.columns?.at(-1) ?? null);
    if (!this.tag.hidden && (now.rows.length > 1 || now.columns.length > 1)) this.sayTogether(now);
  }

  /** One name for several rows or columns, at their middle. */
  nameTogether(axis, places) {
    const name = this.names[axis];
    name.hidden = !places.length;
    if (name.hidden) return;
    name.textContent = this.nameOf(axis, places);
    const middle = (Math.min(...places) + Math.max(...places) + 1) / 2;
    const [wide, left] = [this.view.columns.length * this.cellWidth, middle * this.cellWidth];
    const across = left > wide / 2 ? `right:${wide - left - 10}px` : `left:${left - 10}px`; // towards the side that has room
    name.style.cssText = axis === 'rows' ? `top:${middle * this.cellHeight - 10}px` : across;
  }

  /** A frame around neighbouring rows or columns. */
  frame(name, places) {
    const band = this.bands[name];
    band.hidden = !places?.length;
    if (band.hidden) return;
    const [first, count] = [Math.min(...places), Math.max(...places) - Math.min(...places) + 1];
    const { rows, columns } = this.view;
    const [wide, tall] = [columns.length * this.cellWidth, rows.length * this.cellHeight];
    const upright = /column/i.test(name);
    const [left, top] = upright ? [first * this.cellWidth, 0] : [0, first * this.cellHeight];
    const [width, height] = upright ? [count * this.cellWidth, tall] : [wide, count * this.cellHeight];
    band.style.cssText = `left:${left - 1}px;top:${top - 1}px;width:${width + 1}px;height:${height + 1}px`;
  }

  sayTogether({ rows, columns }) {
    const weight = merged({ weights: this.view.weights, columns: this.view.columns.length }, rows, columns);
    this.tag.textContent = weight === weight ? three(weight) : t('masked');
  }
}
