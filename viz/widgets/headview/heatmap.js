// One head, large: the cells are Plotly's, the labels are ours. Labels belong to the sentence and are drawn once;
// another head is a change of `z` alone.

import { make, narrow, scrolls } from '../core/dom.js';
import { magnified } from '../core/magnified.js';
import { state as page } from '../core/state.js';
import { colour, plotlyScale } from '../core/theme.js';
import { level, rowMaximum, signed, strongest, three } from '../core/view.js';
import { t } from '../core/words.js';
import { InView } from './inview.js';
import { MapLabels } from './maplabels.js';
import { any, litLevels, litWeights, meant, together } from './marks.js';
import { MANY, classRoom, columnRoom, labelRoom } from './room.js';
import { keptSizes } from './still.js';
import { veilNames } from './veil.js';

const WIDEST = 44; // pixels of a cell; on very wide windows more
const TALLEST = 38;
const ROOMY = 900; // pixels of a map from which on its cells grow
const FOLDED = 38; // pixels above a map that names one column at a time
const FEW = 24; // rows: with `named` so many keep their labels however many columns there are
const LINE = 20; // pixels of such a row
const EMPTY_AXIS = { visible: false, fixedrange: true, showgrid: false, zeroline: false };

/**
 * One map with its labels, shown as the store's `showing` says. `difference`: two colours around zero; `rowLabels`: false
 * where a neighbour has them; `named(axis, places)`: what several neighbours read together.
 */
export class Heatmap {
  constructor(plotly, showing, { difference = false, rowLabels = true, named = null } = {}) {
    this.plotly = plotly;
    this.showing = showing;
    this.difference = difference;
    this.rowLabels = rowLabels;
    this.named = named;
    this.kept = null; // the sizes that stay while the sentence is typed
    /** @type {ReturnType<typeof classRoom> | null} */
    this.forClass = null; // the sizes for a class
    this.shape = '';
    this.element = make('div', { class: 'map-scroll' });
    this.labels = new MapLabels(showing, { named, shades: !difference });
    this.plot = make('div', { class: 'plot' });
    const band = (name) => make('div', { class: `band ${name}`, hidden: true });
    this.bands = { row: band('pinned'), column: band('pinned'), hoverRow: band(''), hoverColumn: band('') };
    this.tag = make('div', { class: 'tag', hidden: true });
    this.cover = make('div', { class: 'cover', hidden: true });
    this.plane = make('div', { class: 'plane' }, this.plot, this.cover, ...Object.values(this.bands), this.tag, ...this.labels.names);
    const { corner, columns, rows } = this.labels;
    this.grid = make('div', { class: 'map', role: 'img' }, rowLabels ? corner : null, columns, rowLabels ? rows : null, this.plane);
    this.inView = new InView(this.element);
    this.element.append(this.grid, this.inView.element);
  }

  /** Show a view in so many pixels; `tall`: for a class, the pixels that all its rows should fit in. */
  show(view, width, label, tall = 0) {
    this.view = view;
    this.grid.setAttribute('aria-label', label);
    const tokens = (items) => items.map((item) => `${item.key} ${item.label}`).join();
    const { fit, still } = this.showing;
    const shape = [view.kind, tokens(view.rows), tokens(view.columns), width, tall, fit, still, page.language, page.theme].join();
    if (shape !== this.shape) {
      this.shape = shape;
      this.measure(width, tall);
      this.layOut(tall);
      this.draw(true);
    } else {
      this.draw(false);
    }
  }

  labelWidth() {
    if (this.forClass) return this.forClass.label;
    return this.rowLabels ? (this.kept?.label ?? labelRoom(this.view, this.showing.fit)) : 0;
  }

  measure(width, tall) {
    this.forClass = tall ? classRoom(this.view, { width, tall, scale: magnified() }) : null;
    if (this.forClass) this.measureForClass(this.forClass);
    else this.measureForPage(width);
  }

  measureForClass({ above, cellWidth, cellHeight, scrolls: more }) {
    Object.assign(this, { cellWidth, cellHeight, scrolls: more, tiny: false, low: false, gap: 1, columnHeight: above });
  }

  measureForPage(width) {
    const { rows, columns } = this.view;
    const many = rows.length > MANY || columns.length > MANY;
    const own = { columns: columns.length, label: labelRoom(this.view, this.showing.fit), above: columnRoom(columns) };
    this.kept = this.showing.still ? keptSizes(this.kept, own) : null;
    const { columns: across, above } = this.kept ?? own;
    const grown = Math.max(1, Math.min(1.5, width / ROOMY));
    let cell = Math.min(WIDEST * grown, (width - this.labelWidth() - 2) / across);
    if (many && !this.showing.fit) cell = 20;
    this.cellWidth = cell >= 18 ? Math.floor(cell) : cell;
    this.tiny = this.cellWidth < 12;
    this.low = Boolean(this.named) && this.tiny && rows.length <= FEW;
    const tall = narrow() && !this.tiny ? Math.max(this.cellWidth, 20) : Math.min(this.cellWidth, Math.floor(TALLEST * grown));
    this.cellHeight = this.low ? LINE : tall;
    this.gap = this.cellWidth >= 13 ? 1 : 0;
    this.scrolls = many && !this.showing.fit;
    this.columnHeight = this.tiny ? FOLDED : above;
  }

  /** Whether some cells are empty: masked, or of a word that one of two sentences lacks. */
  get hatched() {
    return Boolean(this.view.masked || this.view.gaps);
  }

  get size() {
    return [this.view.columns.length * this.cellWidth, this.view.rows.length * this.cellHeight];
  }

  layOut(tall) {
    const [width, height] = this.size;
    const { cellWidth, cellHeight, columnHeight, tiny, low } = this;
    scrolls(this.element, this.scrolls);
    this.element.style.maxHeight = tall ? `${tall}px` : '';
    this.grid.classList.toggle('tiny', tiny);
    this.grid.style.gridTemplateColumns = `${this.rowLabels ? `${this.labelWidth()}px ` : ''}${width}px`;
    this.grid.style.setProperty('--label-size', `${this.forClass?.letters ?? (cellWidth < 15 ? 11 : cellWidth < 20 ? 12 : 14)}px`);
    this.plane.style.cssText = `width:${width}px;height:${height}px`;
    this.plane.classList.toggle('masked', this.hatched);
    this.labels.draw(this.view, { cellWidth, cellHeight, columnHeight, tiny, low });
    const counts = { rows: this.view.rows.length, columns: this.view.columns.length };
    const names = { beside: this.labelWidth(), above: columnHeight };
    this.inView.say(this.forClass?.scrolls ? { ...counts, ...names, cellWidth, cellHeight } : null);
  }

  /** Update the cells: a new Plotly figure, or only new values. */
  draw(anew) {
    const { rows, columns } = this.view;
    const z = rows.map((_, row) => this.levels(row));
    const palette = this.difference ? 'difference' : this.showing.palette;
    if (!anew && palette === this.palette) {
      this.plotly.restyle(this.plot, { z: [z] }, [this.trace]);
      return;
    }
    this.palette = palette;
    const base = { type: 'heatmap', hoverinfo: 'skip', showscale: false, xgap: this.gap, ygap: this.gap };
    const [zmin, zmax] = this.difference ? [-1, 1] : [0, 1];
    const traces = [{ ...base, z, zmin, zmax, colorscale: plotlyScale(palette), name: 'weights' }];
    if (this.hatched && this.gap) traces.unshift(this.ground(base, z));
    this.trace = traces.length - 1;
    const [width, height] = this.size;
    const layout = {
      width,
      height,
      margin: { l: 0, r: 0, t: 0, b: 0, pad: 0 },
      xaxis: { ...EMPTY_AXIS, range: [-0.5, columns.length - 0.5] },
      yaxis: { ...EMPTY_AXIS, range: [rows.length - 0.5, -0.5] },
      paper_bgcolor: 'rgba(0,0,0,0)',
      plot_bgcolor: 'rgba(0,0,0,0)',
    };
    this.plotly.react(this.plot, traces, layout, { staticPlot: true, responsive: false });
  }

  /** Background behind unmasked cells, so that the hatching does not show through. */
  ground(base, z) {
    const scale = [
      [0, colour('ground')],
      [1, colour('ground')],
    ];
    const allowed = z.map((row) => row.map((weight) => (weight === null ? null : 1)));
    return { ...base, z: allowed, zmin: 0, zmax: 1, xgap: 0, ygap: 0, colorscale: scale, name: 'ground' };
  }

  levels(row) {
    const { weights, columns } = this.view;
    const { scale } = this.showing;
    const greatest = scale === 'row' && !this.difference ? rowMaximum(this.view, row) : 1;
    return Array.from(columns, (_, column) => {
      const weight = weights[row * columns.length + column];
      if (weight !== weight) return null;
      return this.difference ? weight : level(weight, greatest, scale);
    });
  }

  /** Shade the highlighted labels, frame the hovered and pinned rows and columns, show the cell's value. */
  light(marks) {
    const now = meant(marks);
    const { hover, pinned } = marks;
    this.labels.light(now, litLevels(this.view, now, this.showing.scale));
    this.grid.classList.toggle('lit', any(now));
    const apart = (axis) => (String(hover[axis]) === String(pinned[axis]) ? null : hover[axis]);
    this.frame('row', pinned.rows);
    this.frame('column', pinned.columns);
    this.frame('hoverRow', apart('rows'));
    this.frame('hoverColumn', apart('columns'));
    this.placeTag(now);
    if (this.scrolls && !this.element.matches(':hover')) this.reveal(now);
  }

  /** Blank out rows of tokens that are not written yet. */
  veil(there) {
    const { rows } = this.view;
    this.cover.hidden = there.rows >= rows.length;
    this.cover.style.top = `${there.rows * this.cellHeight}px`;
    veilNames(this.grid, there);
  }

  /** A frame around neighbouring rows or columns. */
  frame(name, places) {
    const band = this.bands[name];
    band.hidden = !places?.length;
    if (band.hidden) return;
    const [first, count] = [Math.min(...places), Math.max(...places) - Math.min(...places) + 1];
    const upright = /column/i.test(name);
    const [wide, tall] = this.size;
    const [left, top] = upright ? [first * this.cellWidth, 0] : [0, first * this.cellHeight];
    const [width, height] = upright ? [count * this.cellWidth, tall] : [wide, count * this.cellHeight];
    band.style.cssText = `left:${left - 1}px;top:${top - 1}px;width:${width + 1}px;height:${height + 1}px`;
  }

  /** Scroll the highlighted row or column and its largest cell into view. */
  reveal(now) {
    if (!any(now)) return;
    const { element } = this;
    const lit = litWeights(this.view, now);
    const centre = [
      (now.columns?.[0] ?? strongest(lit.columns)) * this.cellWidth,
      (now.rows?.[0] ?? strongest(lit.rows)) * this.cellHeight,
    ];
    const room = [element.clientWidth - this.labelWidth(), element.clientHeight - this.columnHeight];
    for (const [axis, name] of ['scrollLeft', 'scrollTop'].entries()) {
      const before = element[name];
      if (centre[axis] < before || centre[axis] + 2 * this.cellWidth > before + room[axis]) element[name] = centre[axis] - room[axis] / 2;
    }
  }

  placeTag({ rows, columns }) {
    const { cellWidth, cellHeight, tag } = this;
    tag.hidden = !rows || !columns;
    if (tag.hidden) return;
    const weight = together(this.view, rows, columns);
    tag.textContent = weight !== weight ? t('masked') : this.difference ? signed(weight, 3) : three(weight);
    const [width] = this.size;
    const [row, column] = [rows[0], columns.at(-1)];
    const left = column * cellWidth > width - 90 && column * cellWidth > 90;
    tag.style.left = left ? 'auto' : `${(column + 1) * cellWidth + 5}px`;
    tag.style.right = left ? `${width - column * cellWidth + 5}px` : 'auto';
    tag.style.top = `${Math.max(0, row * cellHeight + cellHeight / 2 - 10)}px`;
  }

  /** The cell under the pointer. */
  cellAt(event) {
    const box = this.plane.getBoundingClientRect();
    const within = (place, count) => Math.max(0, Math.min(count - 1, Math.floor(place)));
    return [
      within((event.clientY - box.top) / magnified() / this.cellHeight, this.view.rows.length),
      within((event.clientX - box.left) / magnified() / this.cellWidth, this.view.columns.length),
    ];
  }

  close() {
    this.element.remove();
    this.plotly.purge(this.plot);
  }
}
