// The head on show, large, in the form that one wants to see: matrix, lines or numbers; of two heads three matrices.

import { make, isNarrow, replace } from '../core/dom.js';
import { state as page } from '../core/state.js';
import { Comparison } from './comparison.js';
import { Heatmap } from './heatmap.js';
import { Lines } from './lines.js';
import { NumberTable } from './number-table.js';

const FOR_CLASS = '(min-width: 1000px) and (min-height: 500px)'; // as in deck/deck.css
const HIDDEN_WIDTH = 780; // pixels of an area that is not visible yet

export class MapArea {
  /**
   * `showing`: display options; `legend`: the element next to the maps, above lines and below everything else;
   * `widest`: maximum width in pixels; `options`: of a single map (heatmap.js).
   */
  constructor(plotly, showing, { legend = null, widest = Infinity, options = {} } = {}) {
    this.plotly = plotly;
    this.showing = showing;
    this.legend = legend;
    this.widest = widest;
    this.options = options;
    this.maps = [];
    this.form = null;
    this.element = make('div', { class: 'maps' });
  }

  /** One view of a source in a form, called `name`; or the view of B and as `other` that of A. */
  show(source, view, { other = null, form = 'matrix', name }) {
    const wanted = form === 'matrix' && other ? 'compare' : form;
    const width = Math.min(this.widest, this.width || this.element.clientWidth || HIDDEN_WIDTH); // known without a layout of the page
    if (wanted !== this.form) this.switchMode(wanted);
    const both = other ? [other, view] : [view];
    if (wanted === 'compare') this.element.style.setProperty('--plane', `${this.comparison.show(source, other, view, width)}px`);
    else if (wanted === 'matrix') this.maps[0].show(view, width, name, this.classHeight());
    else if (wanted === 'lines') this.maps[0].show(both, width, name);
    else this.maps[0].show(both, name);
  }

  /** Another form: what showed the last one leaves. */
  switchMode(form) {
    const { plotly, showing, element, legend } = this;
    element.style.minHeight = `${element.offsetHeight}px`; // the page keeps its height while one form leaves
    this.clear();
    element.className = `maps ${form}`;
    this.comparison = form === 'compare' ? new Comparison(plotly, showing) : null;
    const forms = {
      matrix: () => new Heatmap(plotly, showing, this.options),
      lines: () => new Lines(showing),
      numbers: () => new NumberTable(),
    };
    this.maps = this.comparison?.maps ?? [forms[form]()];
    replace(element, ...(this.comparison?.elements ?? this.maps.map((map) => map.element)));
    if (legend && form === 'lines')
      element.before(legend); // its slider stays in sight above the longest sentence
    else if (legend) element.after(legend);
    this.form = form;
    requestAnimationFrame(() => (element.style.minHeight = ''));
  }

  /** Before a class, where the style gives the maps what is left of the window: its pixels; else 0. */
  classHeight() {
    return page.beamer && matchMedia(FOR_CLASS).matches ? this.element.clientHeight : 0;
  }

  /** No map at all. */
  clear() {
    for (const map of this.maps) map.destroy?.();
    this.maps = [];
    this.form = null;
    replace(this.element);
  }

  highlight(marks) {
    for (const map of this.maps) map.highlight(marks);
  }

  /** Show only the first rows and columns: {rows, columns}. */
  hideUnwritten(there) {
    for (const map of this.maps) map.hideUnwritten(there);
  }

  /** Row and column under the pointer, if it is over a map. */
  cellAt(event) {
    return this.maps.find((map) => map.plane?.contains(event.target))?.cellAt(event);
  }

  /** Whether there is more or less room than when one asked last. */
  hasResized() {
    const [width, height] = [this.element.clientWidth, this.classHeight()];
    if (!width || (this.width === width && this.height === height)) return false;
    this.width = width;
    this.height = height;
    if (isNarrow() !== this.wasNarrow) this.form = null; // on a phone each map of a comparison has its own names of rows
    this.wasNarrow = isNarrow();
    return true;
  }
}
