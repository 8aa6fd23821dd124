// The large map of a head. Plotly draws the cells; labels are HTML and are drawn once per sentence, so that a change of
// head only updates `z`.

import { make, isNarrow, setScrollable } from '../core/dom.js';
import { pageZoom } from '../core/page-zoom.js';
import { state as page } from '../core/state.js';
import { signedLevel } from '../core/effect-scale.js';
import { colour, getPlotlyScale } from '../core/theme.js';
import { EMPTY_VIEW, colourLevel, rowMaximum, signed, argMax, threeDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { InView } from './inview.js';
import { MapLabels } from './map-labels.js';
import { hasHighlight, getHighlightLevels, getHighlightWeights, mergeHighlight, combineWeights, sumEffects } from './highlights.js';
import { MAX_UNSCROLLED_TOKENS, presentationSizes, computeColumnLabelHeight, computeRowLabelWidth } from './label-size.js';
import { growSizes } from './stable-layout.js';
import { hideUnwrittenLabels } from './unwritten.js';

const MAX_CELL_WIDTH = 44; // pixels; up to 1.5 times as large on wide maps
const MAX_CELL_HEIGHT = 38; // pixels
const MIN_TOUCH_WIDTH = 12; // pixels; on a phone a map with narrower cells scrolls
const MIN_GROWTH_WIDTH = 900; // pixels; cells grow on wider maps
const FOLDED_LABEL_HEIGHT = 38; // pixels; height of the column labels if only the highlighted column is labelled
const TOOLTIP_WIDTH = 90; // pixels; near the right edge, the tooltip is on the left of its cell
const EMPTY_AXIS = { visibleSize: false, fixedrange: true, showgrid: false, zeroline: false };

/**
 * A map with its labels. `displayOptions`: display options; `difference`: diverging colours around zero; `rowLabels`: false if
 * the map on the left has them.
 */
export class Heatmap {
  constructor(plotly, displayOptions, { difference = false, rowLabels = true } = {}) {
    this.plotly = plotly;
    this.displayOptions = displayOptions;
    this.difference = difference;
    this.rowLabels = rowLabels;
    /** @type {import('../core/map-view.js').View} */
    this.view = EMPTY_VIEW; // until `show`
    this.cellWidth = 0;
    this.cellHeight = 0;
    this.fixedSizes = null; // sizes that stay fixed during live translation
    /** @type {ReturnType<typeof presentationSizes> | null} */
    this.presentationSizes = null; // outside presentation mode
    this.shape = '';
    this.element = make('div', { class: 'map-scroll' });
    this.labels = new MapLabels(displayOptions, { shades: !difference });
    this.plot = make('div', { class: 'plot' });
    const band = (name) => make('div', { class: `band ${name}`, hidden: true });
    this.bands = { row: band('pinned'), column: band('pinned'), hoverRow: band(''), hoverColumn: band('') };
    this.tooltip = make('div', { class: 'tag', hidden: true });
    this.cover = make('div', { class: 'cover', hidden: true });
    this.plane = make('div', { class: 'plane' }, this.plot, this.cover, ...Object.values(this.bands), this.tooltip);
    const { corner, columns, rows } = this.labels;
    this.grid = make('div', { class: 'map', role: 'img' }, rowLabels ? corner : null, columns, rowLabels ? rows : null, this.plane);
    this.inView = new InView(this.element);
    this.element.append(this.grid, this.inView.element);
  }

  /** Shows a view within `width` pixels; `availableHeight`: 0 outside presentation mode. */
  show(view, width, label, availableHeight = 0) {
    this.view = view;
    this.grid.setAttribute('aria-label', label);
    this.grid.classList.toggle('late', Boolean(view.late));
    const tokens = (items) => items.map((item) => `${item.key} ${item.label}`).join();
    const { fit, still } = this.displayOptions;
    const sizes = [width, availableHeight, fit, still];
    const shape = [view.kind, tokens(view.rows), tokens(view.columns), ...sizes, page.language, page.theme].join();
    if (shape !== this.shape) {
      this.shape = shape;
      this.measure(width, availableHeight);
      this.layout(availableHeight);
      this.render(true);
    } else {
      this.render(false);
    }
  }

  labelWidth() {
    if (this.presentationSizes) return this.presentationSizes.label;
    return this.rowLabels ? (this.fixedSizes?.label ?? computeRowLabelWidth(this.view, this.displayOptions.fit)) : 0;
  }

  measure(width, availableHeight) {
    this.presentationSizes = availableHeight ? presentationSizes(this.view, { width, availableHeight, scale: pageZoom() }) : null;
    if (this.presentationSizes) this.measureForPresentation(this.presentationSizes);
    else this.measureForPage(width);
  }

  measureForPresentation({ above, cellWidth, cellHeight, scrolls }) {
    Object.assign(this, { cellWidth, cellHeight, scrolls, tiny: false, gap: 1, columnHeight: above });
  }

  measureForPage(width) {
    const { rows, columns } = this.view;
    const isTooNarrow = isNarrow() && (width - computeRowLabelWidth(this.view, this.displayOptions.fit)) / columns.length < MIN_TOUCH_WIDTH;
    const isDense = rows.length > MAX_UNSCROLLED_TOKENS || columns.length > MAX_UNSCROLLED_TOKENS || isTooNarrow;
    const currentSizes = {
      columns: columns.length,
      label: computeRowLabelWidth(this.view, this.displayOptions.fit),
      above: computeColumnLabelHeight(columns),
    };
    this.fixedSizes = this.displayOptions.still ? growSizes(this.fixedSizes, currentSizes) : null;
    const { columns: columnCount, above } = this.fixedSizes ?? currentSizes;
    const scale = Math.max(1, Math.min(1.5, width / MIN_GROWTH_WIDTH));
    let cell = Math.min(MAX_CELL_WIDTH * scale, (width - this.labelWidth() - 2) / columnCount);
    if (isDense && !this.displayOptions.fit) cell = 20;
    this.cellWidth = cell >= 18 ? Math.floor(cell) : cell;
    this.tiny = this.cellWidth < 12;
    const maxHeight = Math.floor(MAX_CELL_HEIGHT * scale);
    this.cellHeight = isNarrow() && !this.tiny ? Math.max(this.cellWidth, 20) : Math.min(this.cellWidth, maxHeight);
    this.gap = this.cellWidth >= 13 ? 1 : 0;
    this.scrolls = isDense && !this.displayOptions.fit;
    this.columnHeight = this.tiny ? FOLDED_LABEL_HEIGHT : above;
  }

  /** Whether some cells are empty: masked cells, or cells of a word that only one of two compared sentences has. */
  get hasEmptyCells() {
    return Boolean(this.view.masked || this.view.gaps);
  }

  /** Whether colours diverge around zero: differences, and effects. */
  get diverging() {
    return this.difference || Boolean(this.view.effects);
  }

  /** Width and height of the cells, in pixels. */
  get size() {
    return [this.view.columns.length * this.cellWidth, this.view.rows.length * this.cellHeight];
  }

  layout(availableHeight) {
    const [width, height] = this.size;
    const { cellWidth, cellHeight, columnHeight, tiny } = this;
    setScrollable(this.element, this.scrolls);
    this.element.style.maxHeight = availableHeight ? `${availableHeight}px` : '';
    this.grid.classList.toggle('tiny', tiny);
    this.grid.style.gridTemplateColumns = `${this.rowLabels ? `${this.labelWidth()}px ` : ''}${width}px`;
    this.grid.style.setProperty(
      '--label-size',
      `${this.presentationSizes?.fontSize ?? (cellWidth < 15 ? 11 : cellWidth < 20 ? 12 : 14)}px`,
    );
    this.plane.style.cssText = `width:${width}px;height:${height}px`;
    this.plane.classList.toggle('masked', this.hasEmptyCells);
    this.labels.draw(this.view, { cellWidth, cellHeight, columnHeight, tiny });
    const counts = { rows: this.view.rows.length, columns: this.view.columns.length };
    const names = { beside: this.labelWidth(), above: columnHeight };
    this.inView.update(this.presentationSizes?.scrolls ? { ...counts, ...names, cellWidth, cellHeight } : null);
  }

  /** Updates the cells, with a new Plotly figure if `full`, else only with new values. */
  render(full) {
    const { rows, columns } = this.view;
    const z = rows.map((_, row) => this.rowLevels(row));
    const palette = this.diverging ? 'difference' : this.displayOptions.palette;
    if (!full && palette === this.palette) {
      this.plotly.restyle(this.plot, { z: [z] }, [this.trace]);
      return;
    }
    this.palette = palette;
    const base = { type: 'heatmap', hoverinfo: 'skip', showscale: false, xgap: this.gap, ygap: this.gap };
    const [zmin, zmax] = this.diverging ? [-1, 1] : [0, 1];
    const traces = [{ ...base, z, zmin, zmax, colorscale: getPlotlyScale(palette), name: 'weights' }];
    if (this.hasEmptyCells && this.gap) traces.unshift(this.backgroundTrace(base, z));
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
  backgroundTrace(base, z) {
    const scale = [
      [0, colour('ground')],
      [1, colour('ground')],
    ];
    const allowed = z.map((row) => row.map((weight) => (weight === null ? null : 1)));
    return { ...base, z: allowed, zmin: 0, zmax: 1, xgap: 0, ygap: 0, colorscale: scale, name: 'ground' };
  }

  rowLevels(row) {
    const { weights, effects, columns } = this.view;
    const { scale } = this.displayOptions;
    const maximum = scale === 'row' && !this.difference ? rowMaximum(this.view, row) : 1;
    return Array.from(columns, (_, column) => {
      const weight = weights[row * columns.length + column];
      if (weight !== weight) return null;
      if (effects) return signedLevel(effects[row * columns.length + column]);
      return this.difference ? weight : colourLevel(weight, maximum, scale);
    });
  }

  /** Shades the highlighted labels, frames the hovered and pinned rows and columns, and shows the cell's value. */
  highlight(marks) {
    const highlight = mergeHighlight(marks);
    const { hover, pinned } = marks;
    this.labels.highlight(highlight, getHighlightLevels(this.view, highlight, this.displayOptions.scale));
    this.grid.classList.toggle('lit', hasHighlight(highlight));
    const unpinnedHover = (axis) => (String(hover[axis]) === String(pinned[axis]) ? null : hover[axis]);
    this.outlineCells('row', pinned.rows);
    this.outlineCells('column', pinned.columns);
    this.outlineCells('hoverRow', unpinnedHover('rows'));
    this.outlineCells('hoverColumn', unpinnedHover('columns'));
    this.positionTooltip(highlight);
    if (this.scrolls && !this.element.matches(':hover')) this.scrollIntoView(highlight);
  }

  /** Covers the rows of tokens that are not generated yet. */
  hideUnwritten(size) {
    const { rows } = this.view;
    this.cover.hidden = size.rows >= rows.length;
    this.cover.style.top = `${size.rows * this.cellHeight}px`;
    hideUnwrittenLabels(this.grid, size);
  }

  /** Draws a frame around neighbouring rows or columns. */
  outlineCells(name, indices) {
    const band = this.bands[name];
    band.hidden = !indices?.length;
    if (band.hidden) return;
    const [first, count] = [Math.min(...indices), Math.max(...indices) - Math.min(...indices) + 1];
    const isColumn = /column/i.test(name);
    const [mapWidth, mapHeight] = this.size;
    const [left, top] = isColumn ? [first * this.cellWidth, 0] : [0, first * this.cellHeight];
    const [width, height] = isColumn ? [count * this.cellWidth, mapHeight] : [mapWidth, count * this.cellHeight];
    // A transform, because a moved `left` or `top` counts as a shift of the layout.
    band.style.cssText = `transform:translate(${left - 1}px,${top - 1}px);width:${width + 1}px;height:${height + 1}px`;
  }

  /** Scrolls the highlighted row or column and its largest cell into view. */
  scrollIntoView(highlight) {
    if (!hasHighlight(highlight)) return;
    const { element } = this;
    const weights = getHighlightWeights(this.view, highlight);
    const centre = [
      (highlight.columns?.[0] ?? argMax(weights.columns)) * this.cellWidth,
      (highlight.rows?.[0] ?? argMax(weights.rows)) * this.cellHeight,
    ];
    const visibleSize = [element.clientWidth - this.labelWidth(), element.clientHeight - this.columnHeight];
    for (const [axis, name] of ['scrollLeft', 'scrollTop'].entries()) {
      const offset = element[name];
      if (centre[axis] < offset || centre[axis] + 2 * this.cellWidth > offset + visibleSize[axis])
        element[name] = centre[axis] - visibleSize[axis] / 2;
    }
  }

  positionTooltip({ rows, columns }) {
    const { cellWidth, cellHeight, tooltip } = this;
    tooltip.hidden = !rows || !columns;
    if (tooltip.hidden) return;
    const weight = combineWeights(this.view, rows, columns);
    const { effects } = this.view;
    if (weight !== weight) tooltip.textContent = t('masked');
    else if (effects) tooltip.textContent = signed(sumEffects(this.view, rows, columns), 2);
    else tooltip.textContent = this.difference ? signed(weight, 3) : threeDecimals(weight);
    const [width] = this.size;
    const [row, column] = [rows[0], columns.at(-1)];
    const isLeft = column * cellWidth > width - TOOLTIP_WIDTH && column * cellWidth > TOOLTIP_WIDTH;
    tooltip.style.left = isLeft ? 'auto' : `${(column + 1) * cellWidth + 5}px`;
    tooltip.style.right = isLeft ? `${width - column * cellWidth + 5}px` : 'auto';
    tooltip.style.top = `${Math.max(0, row * cellHeight + cellHeight / 2 - 10)}px`;
  }

  /** `[row, column]` under the pointer, clamped to the map. */
  cellAt(event) {
    const box = this.plane.getBoundingClientRect();
    const clampIndex = (index, count) => Math.max(0, Math.min(count - 1, Math.floor(index)));
    return [
      clampIndex((event.clientY - box.top) / pageZoom() / this.cellHeight, this.view.rows.length),
      clampIndex((event.clientX - box.left) / pageZoom() / this.cellWidth, this.view.columns.length),
    ];
  }

  destroy() {
    this.element.remove();
    this.plotly.purge(this.plot);
  }
}
