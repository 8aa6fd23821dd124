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
const MIN_ROW_WIDTH = 860; // pixels; narrower pages show the maps below each other
const MIN_DIFFERENCE = 0.0005; // smaller differences round to 0.000
const MAX_MAP_WIDTH = 612; // pixels

export class ThreeMaps {
  /** `callbacks`: `onHover(row, column)` and `onPin(row, column)` with positions in common words. */
  constructor(callbacks) {
    this.marks = NO_HIGHLIGHT;
    this.titles = [0, 1, 2].map(() => make('h3', {}));
    this.frames = this.titles.map((title) => make('div', { class: 'frame' }, title));
    this.row = make('div', { class: 'trio' }, ...this.frames);
    this.legend = make('div', { class: 'legend' });
    this.largestDifferences = make('div', { class: 'pairs' });
    this.element = make('div', { class: 'maps-of-both' }, this.row, this.legend, this.largestDifferences);
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
    this.width = this.row.clientWidth || MIN_ROW_WIDTH;
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

  /** Draws A, B and A − B as heatmaps. In a row, only the first has row labels. */
  showMaps(views) {
    const isRow = this.width >= MIN_ROW_WIDTH;
    if (this.layout !== `matrix ${isRow}`) {
      const options = [{}, { rowLabels: !isRow }, { rowLabels: !isRow, difference: true }];
      this.switchLayout(
        `matrix ${isRow}`,
        options.map((mapOptions) => new Heatmap(canvasPlotly(), state, mapOptions)),
      );
    }
    const labelWidth = computeRowLabelWidth(views[0], state.fit);
    const planeWidth = isRow ? Math.floor((this.width - labelWidth - 2 * GAP) / 3) : Math.min(MAX_MAP_WIDTH, this.width) - labelWidth;
    for (const [viewIndex, view] of views.entries()) {
      const hasLabels = !isRow || viewIndex === 0;
      this.maps[viewIndex].show(view, hasLabels ? planeWidth + labelWidth : planeWidth, this.titles[viewIndex].textContent);
      this.titles[viewIndex].style.paddingInlineStart = hasLabels ? `${labelWidth}px` : '0';
    }
  }

  showNumbers(views) {
    if (this.layout !== 'numbers')
      this.switchLayout(
        'numbers',
        views.map(() => new NumberTable()),
      );
    for (const [viewIndex, view] of views.entries()) {
      this.titles[viewIndex].style.paddingInlineStart = '0';
      this.maps[viewIndex].show(viewIndex < 2 ? [view] : [this.views[0], this.views[1]], this.titles[viewIndex].textContent);
    }
  }

  /** Replaces the maps of the previous layout. */
  switchLayout(layout, maps) {
    for (const map of this.maps ?? []) map.destroy?.();
    this.maps = maps;
    this.layout = layout;
    this.row.className = `trio ${layout}`;
    for (const [viewIndex, map] of maps.entries()) replace(this.frames[viewIndex], this.titles[viewIndex], map.element);
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
    replace(this.largestDifferences, name, ...buttons);
  }

  highlight(marks) {
    this.marks = marks;
    if (this.views && !this.element.hidden) for (const map of this.maps) map.highlight(marks);
  }
}
