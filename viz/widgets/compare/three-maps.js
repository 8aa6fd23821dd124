// Three maps on the same axes: A, B, and A − B. Cells of missing words are hatched.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { getViewMode } from '../headview/view-modes.js';
import { Heatmap } from '../headview/heatmap.js';
import { listLargestDifferences } from '../headview/largest-differences.js';
import { NO_HIGHLIGHT } from '../headview/highlights.js';
import { NumberTable } from '../headview/number-table.js';
import { findLabelCell, mountPointer } from '../headview/pointer.js';
import { computeRowLabelWidth } from '../headview/label-size.js';
import { makeDifferenceLegend, makeColourLegend } from '../parts/legend.js';
import { headName } from '../parts/head-names.js';
import { canvasPlotly } from '../parts/canvas-plotly.js';
import { badge } from './model-panel.js';

export const VIEW_MODES = ['matrix', 'numbers'];
const GAP = 20; // pixels between maps
const ROW_FROM_WIDTH = 860; // minimum width in pixels for three maps side by side
const MIN_DIFFERENCE = 0.0005; // smaller differences print as 0.000
const MAX_WIDTH = 612; // maximum pixels of a single map

export class ThreeMaps {
  /** `callbacks`: `onHover(row, column)` and `onPin(row, column)` with positions in common words. */
  constructor(callbacks) {
    this.marks = NO_HIGHLIGHT;
    this.titles = [0, 1, 2].map(() => make('h3', {}));
    this.frames = this.titles.map((title) => make('div', { class: 'frame' }, title));
    this.row = make('div', { class: 'trio' }, ...this.frames);
    this.legend = make('div', { class: 'legend' });
    this.pairs = make('div', { class: 'pairs' });
    this.element = make('div', { class: 'maps-of-both' }, this.row, this.legend, this.pairs);
    const cellAt = (event) => this.maps?.find((map) => map.plane?.contains(event.target))?.cellAt(event);
    mountPointer(this.element, (event) => this.views && (cellAt(event) ?? findLabelCell(event.target) ?? [null, null]), callbacks);
    new ResizeObserver(() => this.views && this.row.clientWidth && this.row.clientWidth !== this.width && this.show(this.content)).observe(
      this.row,
    );
  }

  /** `content`: {similarity, heads, kind, back}; `back`: whether the second map is transposed. */
  show(content) {
    const { similarity, heads, kind, back } = content;
    this.content = content;
    const { rows, columns } = similarity.units;
    const base = { kind, rows, columns, maximum: true, gaps: true };
    this.views = [0, 1].map((side) => ({ ...base, weights: similarity.map(side, heads[side]) }));
    const difference = { ...base, weights: similarity.difference(...heads) };
    this.width = this.row.clientWidth || ROW_FROM_WIDTH;
    const viewMode = getViewMode(VIEW_MODES, state);
    this.element.hidden = !rows.length || !columns.length;
    if (this.element.hidden) return;
    for (const [side, head] of heads.entries()) replace(this.titles[side], badge('AB'[side]), headName(head.layer, head.head));
    replace(this.titles[2], t('beside_minus'));
    if (viewMode === 'numbers') this.showNumbers([...this.views, difference]);
    else this.showMaps([...this.views, difference]);
    this.drawLegend(viewMode, back, base);
    this.drawLargest(difference);
    this.highlight(this.marks);
  }

  showMaps(views) {
    const inRow = this.width >= ROW_FROM_WIDTH;
    if (this.layout !== `matrix ${inRow}`) {
      const options = [{}, { rowLabels: !inRow }, { rowLabels: !inRow, difference: true }];
      this.switchLayout(
        `matrix ${inRow}`,
        options.map((option) => new Heatmap(canvasPlotly(), state, option)),
      );
    }
    const labels = computeRowLabelWidth(views[0], state.fit);
    const plane = inRow ? Math.floor((this.width - labels - 2 * GAP) / 3) : Math.min(MAX_WIDTH, this.width) - labels;
    for (const [number, view] of views.entries()) {
      const mapWidth = inRow && number ? plane : plane + labels;
      this.maps[number].show(view, mapWidth, this.titles[number].textContent);
      this.titles[number].style.paddingInlineStart = inRow && number ? '0' : `${labels}px`;
    }
  }

  showNumbers(views) {
    if (this.layout !== 'numbers')
      this.switchLayout(
        'numbers',
        views.map(() => new NumberTable()),
      );
    for (const [number, view] of views.entries()) {
      this.titles[number].style.paddingInlineStart = '0';
      this.maps[number].show(number < 2 ? [view] : [this.views[0], this.views[1]], this.titles[number].textContent);
    }
  }

  /** Replaces the maps of the previous layout. */
  switchLayout(layout, maps) {
    for (const map of this.maps ?? []) map.destroy?.();
    this.maps = maps;
    this.layout = layout;
    this.row.className = `trio ${layout}`;
    for (const [number, map] of maps.entries()) replace(this.frames[number], this.titles[number], map.element);
  }

  drawLegend(viewMode, back, view) {
    const note = (text) => make('span', {}, text);
    const hatched = make('span', { class: 'sample' }, make('i', { class: 'hatch' }), t('beside_hatched'));
    const colours = viewMode === 'matrix' ? [...makeColourLegend(view, state).slice(0, 1), makeDifferenceLegend(), hatched] : [];
    replace(this.legend, ...colours, back ? note(t('beside_turned')) : null);
  }

  drawLargest(difference) {
    const buttons = listLargestDifferences(difference, MIN_DIFFERENCE);
    const name = make('span', { class: 'quiet' }, t(buttons.length ? 'largest_differences' : 'beside_no_difference'));
    replace(this.pairs, name, ...buttons);
  }

  highlight(marks) {
    this.marks = marks;
    if (this.views && !this.element.hidden) for (const map of this.maps) map.highlight(marks);
  }
}
