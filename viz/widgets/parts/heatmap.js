// One head, large: the cells are Plotly's, the labels are ours. Labels belong to the sentence and are drawn once;
// another head is a change of `z` alone.

import { CJK, make, narrow, replace, scrolls } from '../core/dom.js';
import { state } from '../core/state.js';
import { colour, css, inkOn, plotlyScale, shade } from '../core/theme.js';
import { columnOf, level, rowMaximum, rowOf, signed, strongest, three } from '../core/view.js';
import { t } from '../core/words.js';
import { MANY, labelRoom, textWidth } from './room.js';

const WIDEST = 44; // pixels of a cell; on very wide windows more
const TALLEST = 38;
const ROOMY = 900; // pixels of a map from which on its cells grow
const TICK = 40; // pixels that the number of a column takes
const FOLDED = 38; // pixels above a map that names one column at a time
const EMPTY_AXIS = { visible: false, fixedrange: true, showgrid: false, zeroline: false };

/** A number above its column; near the right edge it ends there, so that none of it is cut off. */
function tickPlace(centre, width) {
  const beyond = centre + TICK / 2 > width;
  return `bottom:4px;width:${TICK}px;${beyond ? `left:${width - TICK}px;text-align:end` : `left:${centre - TICK / 2}px`}`;
}

/** One map with its labels. `difference`: two colours around zero; `rowLabels`: false where a neighbour has them. */
export class Heatmap {
  constructor(plotly, { difference = false, rowLabels = true } = {}) {
    Object.assign(this, { plotly, difference, rowLabels, shape: '' });
    this.element = make('div', { class: 'map-scroll' });
    this.columns = make('div', { class: 'columns' });
    this.rows = make('div', { class: 'rows' });
    this.corner = make('div', { class: 'corner', 'aria-hidden': 'true' });
    this.plot = make('div', { class: 'plot' });
    const band = (name) => make('div', { class: `band ${name}`, hidden: true });
    this.bands = { row: band('pinned'), column: band('pinned'), hoverRow: band(''), hoverColumn: band('') };
    this.tag = make('div', { class: 'tag', hidden: true });
    this.plane = make('div', { class: 'plane' }, this.plot, ...Object.values(this.bands), this.tag);
    this.grid = make('div', { class: 'map', role: 'img' }, this.rowLabels ? this.corner : null, this.columns);
    this.grid.append(...(this.rowLabels ? [this.rows] : []), this.plane);
    this.element.append(this.grid);
  }

  /** Show a view in so many pixels. */
  show(view, width, label) {
    this.view = view;
    this.grid.setAttribute('aria-label', label);
    const tokens = (items) => items.map((item) => `${item.key} ${item.label}`).join();
    const shape = [view.kind, tokens(view.rows), tokens(view.columns), width, state.fit, state.language, state.theme].join();
    if (shape !== this.shape) {
      this.shape = shape;
      this.measure(width);
      this.drawLabels();
      this.draw(true);
    } else {
      this.draw(false);
    }
  }

  labelWidth() {
    return this.rowLabels ? labelRoom(this.view) : 0;
  }

  measure(width) {
    const { rows, columns } = this.view;
    const many = rows.length > MANY || columns.length > MANY;
    const grown = Math.max(1, Math.min(1.5, width / ROOMY));
    let cell = Math.min(WIDEST * grown, (width - this.labelWidth() - 2) / columns.length);
    if (many && !state.fit) cell = 20;
    this.cellWidth = cell >= 18 ? Math.floor(cell) : cell;
    this.tiny = this.cellWidth < 12;
    this.cellHeight = narrow() && !this.tiny ? Math.max(this.cellWidth, 20) : Math.min(this.cellWidth, Math.floor(TALLEST * grown));
    this.gap = this.cellWidth >= 13 ? 1 : 0;
    this.scrolls = many && !state.fit;
    this.fontSize = this.cellWidth < 15 ? 11 : this.cellWidth < 20 ? 12 : 14;
    const tall = Math.max(...columns.map((item) => (CJK.test(item.label) ? [...item.label].length * 15 : textWidth(item.label))));
    this.columnHeight = this.tiny ? FOLDED : Math.min(116, Math.max(44, tall + 14));
  }

  drawLabels() {
    const { rows, columns } = this.view;
    const { cellWidth, cellHeight } = this;
    const [width, height] = [columns.length * cellWidth, rows.length * cellHeight];
    scrolls(this.element, this.scrolls);
    this.grid.classList.toggle('tiny', this.tiny);
    this.grid.style.gridTemplateColumns = `${this.rowLabels ? `${this.labelWidth()}px ` : ''}${width}px`;
    this.grid.style.setProperty('--label-size', `${this.fontSize}px`);
    this.plane.style.cssText = `width:${width}px;height:${height}px`;
    this.plane.classList.toggle('masked', this.view.kind === 'decoder');
    this.columns.style.height = `${this.columnHeight}px`;
    replace(this.corner, make('div', {}, t('looked_at_axis')), make('div', {}, t('looking_axis')));
    const label = (item, data, style) => {
      const text = make('span', { class: item.special ? 'special' : '' }, item.label);
      const upright = data.column != null && CJK.test(item.label) && !this.tiny;
      // Where one name lies above many columns, it reaches to the side that has room.
      const end = this.tiny && data.column > columns.length / 2 ? ' backwards' : '';
      return make('div', { class: `label${upright ? ' upright' : ''}${end}`, data, style, title: item.full }, text);
    };
    const tick = (number, style) => make('span', { class: 'tick', style }, number);
    const tens = (count) => (this.tiny ? Array.from({ length: Math.floor(count / 10) }, (_, ten) => 10 * ten + 9) : []);
    replace(
      this.columns,
      ...columns.map((item, column) => label(item, { column }, `width:${cellWidth}px`)),
      ...tens(columns.length).map((place) => tick(place + 1, tickPlace((place + 0.5) * cellWidth, width))),
    );
    replace(
      this.rows,
      ...rows.map((item, row) => label(item, { row }, `height:${cellHeight}px`)),
      ...tens(rows.length).map((place) => tick(place + 1, `right:8px;top:${(place + 0.5) * cellHeight - 6}px`)),
    );
  }

  /** The cells: Plotly draws them anew, or only takes other numbers. */
  draw(anew) {
    const { rows, columns } = this.view;
    const z = rows.map((_, row) => this.levels(row));
    const palette = this.difference ? 'difference' : state.palette;
    if (!anew && palette === this.palette) {
      this.plotly.restyle(this.plot, { z: [z] }, [this.trace]);
      return;
    }
    this.palette = palette;
    const base = { type: 'heatmap', hoverinfo: 'skip', showscale: false, xgap: this.gap, ygap: this.gap };
    const [zmin, zmax] = this.difference ? [-1, 1] : [0, 1];
    const traces = [{ ...base, z, zmin, zmax, colorscale: plotlyScale(palette), name: 'weights' }];
    if (this.view.kind === 'decoder' && this.gap) traces.unshift(this.ground(base, z));
    this.trace = traces.length - 1;
    const layout = {
      width: columns.length * this.cellWidth,
      height: rows.length * this.cellHeight,
      margin: { l: 0, r: 0, t: 0, b: 0, pad: 0 },
      xaxis: { ...EMPTY_AXIS, range: [-0.5, columns.length - 0.5] },
      yaxis: { ...EMPTY_AXIS, range: [rows.length - 0.5, -0.5] },
      paper_bgcolor: 'rgba(0,0,0,0)',
      plot_bgcolor: 'rgba(0,0,0,0)',
    };
    this.drawing = this.plotly.react(this.plot, traces, layout, { staticPlot: true, responsive: false });
  }

  /** Under the allowed cells, so that the hatch of what is masked does not show between them. */
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
    const most = state.scale === 'row' && !this.difference ? rowMaximum(this.view, row) : 1;
    return Array.from(columns, (_, column) => {
      const weight = weights[row * columns.length + column];
      if (weight !== weight) return null;
      return this.difference ? weight : level(weight, most);
    });
  }

  /** Shade the labels by what the lit row or column holds, mark row and column, say the cell's number. `looking`: at which. */
  light(looking = state) {
    const { view, cellWidth, cellHeight } = this;
    const row = looking.hoverRow ?? looking.row;
    const column = looking.hoverColumn ?? looking.column;
    const lit = litLevels(view, row, row === null ? column : null);
    for (const label of this.columns.querySelectorAll('.label')) {
      const place = Number(label.dataset.column);
      paintLabel(label, this.difference ? null : lit.columns?.[place], row === null && place === column);
      label.classList.toggle('dim', this.tiny && place !== (column ?? (row === null ? null : strongest(rowOf(view, row)))));
    }
    for (const label of this.rows.querySelectorAll('.label')) {
      const place = Number(label.dataset.row);
      paintLabel(label, this.difference ? null : lit.rows?.[place], place === row);
      label.classList.toggle('dim', this.tiny && place !== (row ?? (column === null ? null : strongest(columnOf(view, column)))));
    }
    this.grid.classList.toggle('lit', row !== null || column !== null);
    const [width, height] = [view.columns.length * cellWidth, view.rows.length * cellHeight];
    const put = (name, place, [left, top, wide, tall]) => {
      this.bands[name].hidden = place === null;
      if (place === null) return;
      this.bands[name].style.cssText = `left:${left - 1}px;top:${top - 1}px;width:${wide + 1}px;height:${tall + 1}px`;
    };
    const apart = (place, pinned) => (place === pinned ? null : place);
    put('row', looking.row, [0, looking.row * cellHeight, width, cellHeight]);
    put('column', looking.column, [looking.column * cellWidth, 0, cellWidth, height]);
    put('hoverRow', apart(looking.hoverRow, looking.row), [0, looking.hoverRow * cellHeight, width, cellHeight]);
    put('hoverColumn', apart(looking.hoverColumn, looking.column), [looking.hoverColumn * cellWidth, 0, cellWidth, height]);
    this.placeTag(row, column);
    if (this.scrolls && !this.element.matches(':hover')) this.reveal(row, column);
  }

  /** Where the map scrolls: what is lit elsewhere is in sight, with the strongest cell of its row or column. */
  reveal(row, column) {
    if (row === null && column === null) return;
    const { view, element } = this;
    const centre = [(column ?? strongest(rowOf(view, row))) * this.cellWidth, (row ?? strongest(columnOf(view, column))) * this.cellHeight];
    const room = [element.clientWidth - this.labelWidth(), element.clientHeight - this.columnHeight];
    for (const [axis, name] of ['scrollLeft', 'scrollTop'].entries()) {
      const before = element[name];
      if (centre[axis] < before || centre[axis] + 2 * this.cellWidth > before + room[axis]) element[name] = centre[axis] - room[axis] / 2;
    }
  }

  placeTag(row, column) {
    const { view, cellWidth, cellHeight, tag } = this;
    tag.hidden = row === null || column === null;
    if (tag.hidden) return;
    const weight = view.weights[row * view.columns.length + column];
    tag.textContent = weight !== weight ? t('masked') : this.difference ? signed(weight, 3) : three(weight);
    const width = view.columns.length * cellWidth;
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
      within((event.clientY - box.top) / this.cellHeight, this.view.rows.length),
      within((event.clientX - box.left) / this.cellWidth, this.view.columns.length),
    ];
  }

  close() {
    this.element.remove();
    this.drawing?.then(() => this.plotly.purge(this.plot)); // Plotly stumbles over what is taken from under its pen
  }
}

/** How strongly each row or column is lit by the chosen one. */
export function litLevels(view, row, column) {
  if (row !== null) {
    const most = rowMaximum(view, row);
    return { columns: Array.from(rowOf(view, row), (weight) => level(weight, most)) };
  }
  if (column !== null) {
    const weights = columnOf(view, column);
    const most = Math.max(...Array.from(weights, (weight) => weight || 0));
    return { rows: Array.from(weights, (weight) => level(weight, most)) };
  }
  return {};
}

/** Below 0.02 a word stays as it is; otherwise every word turns into a box. */
export function paint(element, strength) {
  const shows = strength >= 0.02; // not for null, undefined, NaN
  const rgb = shows ? shade(state.palette, strength) : null;
  element.style.backgroundColor = shows ? css(rgb) : '';
  element.style.color = shows ? inkOn(rgb) : '';
}

function paintLabel(label, strength, chosen) {
  paint(label, strength);
  label.classList.toggle('chosen', chosen);
}
