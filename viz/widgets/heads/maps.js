// The head on show, large, in the form that one wants to see: matrix, lines or numbers; of two heads three matrices.

import { make, narrow, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { Heatmap } from '../parts/heatmap.js';
import { headName } from '../parts/naming.js';
import { Numbers } from '../parts/numbers.js';
import { Comparison } from './comparison.js';
import { Lines } from './lines.js';

export const VIEWS = ['matrix', 'lines', 'numbers'];
const WIDTH = 780; // pixels of an area that nobody sees yet

export class Maps {
  /** `legend` is the element that stands beside the maps: above lines, below everything else. */
  constructor(plotly, legend) {
    Object.assign(this, { plotly, legend, maps: [], form: null });
    this.element = make('div', { class: 'maps' });
  }

  /** One view, or the view of B and as `other` that of A. */
  show(view, other) {
    const form = state.view === 'matrix' && other ? 'compare' : state.view;
    const width = this.element.clientWidth || WIDTH;
    if (form !== this.form) this.begin(form);
    const name = headName(view.layer, view.head);
    const both = other ? [other, view] : [view];
    if (form === 'compare') this.element.style.setProperty('--plane', `${this.comparison.show(other, view, width)}px`);
    else if (form === 'matrix') this.maps[0].show(view, width, name);
    else if (form === 'lines') this.maps[0].show(both, width, name);
    else this.maps[0].show(both, name);
  }

  /** Another form: what showed the last one leaves. */
  begin(form) {
    this.element.style.minHeight = `${this.element.offsetHeight}px`; // the page keeps its height while one form leaves
    this.maps.forEach((map) => map.close?.());
    this.element.className = `maps ${form}`;
    this.comparison = form === 'compare' ? new Comparison(this.plotly) : null;
    const forms = { matrix: () => new Heatmap(this.plotly), lines: () => new Lines(), numbers: () => new Numbers() };
    this.maps = this.comparison?.maps ?? [forms[form]()];
    replace(this.element, ...(this.comparison?.elements ?? this.maps.map((map) => map.element)));
    if (form === 'lines')
      this.element.before(this.legend); // its slider stays in sight above the longest sentence
    else this.element.after(this.legend);
    this.form = form;
    requestAnimationFrame(() => (this.element.style.minHeight = ''));
  }

  light() {
    this.maps.forEach((map) => map.light());
  }

  /** Row and column under the pointer, where it is on the cells of a map. */
  cellAt(event) {
    return this.maps.find((map) => map.plane?.contains(event.target))?.cellAt(event);
  }

  /** Whether there is more or less room than when one asked last. */
  resized() {
    if (this.width === this.element.clientWidth) return false;
    this.width = this.element.clientWidth;
    if (narrow() !== this.wasNarrow) this.form = null; // on a phone each map of a comparison has its own names of rows
    this.wasNarrow = narrow();
    return true;
  }
}
