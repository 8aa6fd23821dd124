// Three maps in a row on the same axes: A, B, and A − B. Where a side lacks a word, its cells are hatched.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { t } from '../core/words.js';
import { formOf } from '../headview/forms.js';
import { Heatmap } from '../headview/heatmap.js';
import { largestDifferences } from '../headview/largest.js';
import { NO_MARKS } from '../headview/marks.js';
import { Numbers } from '../headview/numbers.js';
import { labelAt, listenToPointer } from '../headview/pointing.js';
import { labelRoom } from '../headview/room.js';
import { differenceKey, scaleKey } from '../parts/legend.js';
import { headName } from '../parts/naming.js';
import { quickPlotly } from '../parts/quickplotly.js';
import { badge } from './side.js';

export const FORMS = ['matrix', 'numbers'];
const BETWEEN = 20; // pixels between two maps
const WIDE = 860; // pixels from which on three maps stand in a row
const LEAST = 0.0005; // a smaller difference reads 0.000
const WIDEST = 612; // pixels of a map that stands alone

export class Trio {
  /** `does`: `point(row, column)` and `pin(row, column)`, places in the common words. */
  constructor(does) {
    this.marks = NO_MARKS;
    this.titles = [0, 1, 2].map(() => make('h3', {}));
    this.frames = this.titles.map((title) => make('div', { class: 'frame' }, title));
    this.row = make('div', { class: 'trio' }, ...this.frames);
    this.legend = make('div', { class: 'legend' });
    this.pairs = make('div', { class: 'pairs' });
    this.element = make('div', { class: 'maps-of-both' }, this.row, this.legend, this.pairs);
    const cellAt = (event) => this.maps?.find((map) => map.plane?.contains(event.target))?.cellAt(event);
    listenToPointer(this.element, (event) => this.views && (cellAt(event) ?? labelAt(event.target) ?? [null, null]), does);
    new ResizeObserver(() => this.views && this.row.clientWidth && this.row.clientWidth !== this.width && this.show(this.about)).observe(
      this.row,
    );
  }

  /** `likeness` has both maps, `heads` says which; `back`: the second one is turned over. */
  show(about) {
    const { likeness, heads, kind, back } = about;
    this.about = about;
    const { rows, columns } = likeness.units;
    const base = { kind, rows, columns, maximum: true, gaps: true };
    this.views = [0, 1].map((side) => ({ ...base, weights: likeness.map(side, heads[side]) }));
    const difference = { ...base, weights: likeness.difference(...heads) };
    this.width = this.row.clientWidth || WIDE;
    const form = formOf(FORMS, state);
    this.element.hidden = !rows.length || !columns.length;
    if (this.element.hidden) return;
    for (const [side, head] of heads.entries()) replace(this.titles[side], badge('AB'[side]), headName(head.layer, head.head));
    replace(this.titles[2], t('beside_minus'));
    if (form === 'numbers') this.showNumbers([...this.views, difference]);
    else this.showMaps([...this.views, difference]);
    this.drawLegend(form, back, base);
    this.drawLargest(difference);
    this.light(this.marks);
  }

  showMaps(views) {
    const inRow = this.width >= WIDE;
    if (this.form !== `matrix ${inRow}`) {
      const options = [{}, { rowLabels: !inRow }, { rowLabels: !inRow, difference: true }];
      this.begin(
        `matrix ${inRow}`,
        options.map((each) => new Heatmap(quickPlotly(), state, each)),
      );
    }
    const labels = labelRoom(views[0], state.fit);
    const plane = inRow ? Math.floor((this.width - labels - 2 * BETWEEN) / 3) : Math.min(WIDEST, this.width) - labels;
    for (const [number, view] of views.entries()) {
      const wide = inRow && number ? plane : plane + labels;
      this.maps[number].show(view, wide, this.titles[number].textContent);
      this.titles[number].style.paddingInlineStart = inRow && number ? '0' : `${labels}px`;
    }
  }

  showNumbers(views) {
    if (this.form !== 'numbers')
      this.begin(
        'numbers',
        views.map(() => new Numbers()),
      );
    for (const [number, view] of views.entries()) {
      this.titles[number].style.paddingInlineStart = '0';
      this.maps[number].show(number < 2 ? [view] : [this.views[0], this.views[1]], this.titles[number].textContent);
    }
  }

  /** Another form: what showed the last one leaves. */
  begin(form, maps) {
    for (const map of this.maps ?? []) map.close?.();
    this.maps = maps;
    this.form = form;
    this.row.className = `trio ${form}`;
    for (const [number, map] of maps.entries()) replace(this.frames[number], this.titles[number], map.element);
  }

  drawLegend(form, back, view) {
    const note = (text) => make('span', {}, text);
    const hatched = make('span', { class: 'sample' }, make('i', { class: 'hatch' }), t('beside_hatched'));
    const colours = form === 'matrix' ? [...scaleKey(view, state).slice(0, 1), differenceKey(), hatched] : [];
    replace(this.legend, ...colours, back ? note(t('beside_turned')) : null);
  }

  drawLargest(difference) {
    const buttons = largestDifferences(difference, LEAST);
    const name = make('span', { class: 'quiet' }, t(buttons.length ? 'largest_differences' : 'beside_no_difference'));
    replace(this.pairs, name, ...buttons);
  }

  light(marks) {
    this.marks = marks;
    if (this.views && !this.element.hidden) for (const map of this.maps) map.light(marks);
  }
}
