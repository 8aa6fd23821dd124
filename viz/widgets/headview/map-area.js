// The selected head as a matrix, lines or numbers; a comparison as three matrices.

import { make, isNarrow, replace } from '../core/dom.js';
import { state as page } from '../core/state.js';
import { Comparison } from './comparison.js';
import { Heatmap } from './heatmap.js';
import { Lines } from './lines.js';
import { NumberTable } from './number-table.js';

const PRESENTATION_WINDOW = '(min-width: 1000px) and (min-height: 500px)'; // as in deck/deck.css
const HIDDEN_WIDTH = 780; // assumed width in pixels of a hidden area

export class MapArea {
  /**
   * `displayOptions`: display options; `legend`: element that is moved above lines and below other modes; `maxWidth`: maximum
   * width in pixels; `options`: options of a single map (heatmap.js).
   */
  constructor(plotly, displayOptions, { legend = null, maxWidth = Infinity, options = {} } = {}) {
    this.plotly = plotly;
    this.displayOptions = displayOptions;
    this.legend = legend;
    this.maxWidth = maxWidth;
    this.options = options;
    /** @type {Comparison | null} */
    this.comparison = null;
    /** @type {any[]} maps of one mode, each with its own arguments of `show` */
    this.maps = [];
    this.mode = null;
    this.element = make('div', { class: 'maps' });
  }

  /** Shows a view in a view mode with the accessible name `name`. In a comparison, `view` is B and `other` is A. */
  show(source, view, { other = null, viewMode = 'matrix', name }) {
    const mapType = viewMode === 'effect' ? 'matrix' : viewMode; // effects are a matrix in other colours
    const mode = mapType === 'matrix' && other ? 'compare' : mapType;
    const width = Math.min(this.maxWidth, this.width || this.element.clientWidth || HIDDEN_WIDTH); // avoids a reflow
    if (mode !== this.mode) this.switchMode(mode);
    const views = other ? [other, view] : [view];
    if (this.comparison) this.element.style.setProperty('--plane', `${this.comparison.show(source, other, view, width)}px`);
    else if (mode === 'matrix') this.maps[0].show(view, width, name, this.presentationHeight());
    else if (mode === 'lines') this.maps[0].show(views, width, name);
    else this.maps[0].show(views, name);
  }

  /** Replaces the elements of the previous view mode. */
  switchMode(mode) {
    const { plotly, displayOptions, element, legend } = this;
    element.style.minHeight = `${element.offsetHeight}px`; // keeps the page's height during the switch
    this.clear();
    element.className = `maps ${mode}`;
    this.comparison = mode === 'compare' ? new Comparison(plotly, displayOptions) : null;
    const makeMap = {
      matrix: () => new Heatmap(plotly, displayOptions, this.options),
      lines: () => new Lines(displayOptions),
      numbers: () => new NumberTable(),
    };
    this.maps = this.comparison?.maps ?? [makeMap[mode]()];
    replace(element, ...(this.comparison?.elements ?? this.maps.map((map) => map.element)));
    if (legend && mode === 'lines')
      element.before(legend); // keeps the slider visible above long sentences
    else if (legend) element.after(legend);
    this.mode = mode;
    requestAnimationFrame(() => (element.style.minHeight = ''));
  }

  /** Height in pixels in presentation mode, in which maps fill the window, else 0. */
  presentationHeight() {
    return page.beamer && matchMedia(PRESENTATION_WINDOW).matches ? this.element.clientHeight : 0;
  }

  /** Removes all maps. */
  clear() {
    for (const map of this.maps) map.destroy?.();
    this.maps = [];
    this.mode = null;
    replace(this.element);
  }

  highlight(marks) {
    for (const map of this.maps) map.highlight(marks);
  }

  /** Shows only the first rows and columns; `size`: {rows, columns}. */
  hideUnwritten(size) {
    for (const map of this.maps) map.hideUnwritten(size);
  }

  /** Row and column under the pointer, if it is over a map. */
  cellAt(event) {
    return this.maps.find((map) => map.plane?.contains(event.target))?.cellAt(event);
  }

  /** Whether the size has changed since the last call. */
  hasResized() {
    const [width, height] = [this.element.clientWidth, this.presentationHeight()];
    if (!width || (this.width === width && this.height === height)) return false;
    this.width = width;
    this.height = height;
    if (isNarrow() !== this.wasNarrow) this.mode = null; // on a phone each map of a comparison has row labels
    this.wasNarrow = isNarrow();
    return true;
  }
}
