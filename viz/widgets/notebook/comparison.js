// Comparison of two recordings of the same tokens: one head of each, and the difference. Both share one selection.

import { make, replace } from '../core/dom.js';
import { on as onPage } from '../core/state.js';
import { axes, nearestHead, view } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { Comparison, describeDifference } from '../headview/comparison.js';
import { getHighlight } from '../headview/highlights.js';
import { mountPointer, findCell } from '../headview/pointer.js';
import { canvasPlotly } from '../parts/canvas-plotly.js';
import { RecordingSource } from '../recording/recording-source.js';

const REDRAW_FIELDS = ['kind', 'layer', 'head', 'preview', 'words', 'special', 'rescale', 'scale', 'palette', 'fit', 'loadedMaps'];

export class RecordingComparison {
  /** `onComparable(isComparable)` is called on each draw; `isComparable`: whether both recordings have the same tokens. */
  constructor(element, recordings, store, onComparable) {
    element.classList.add('explorer', 'both');
    this.onComparable = onComparable;
    this.recordings = recordings;
    this.store = store;
    this.title = make('h2', {});
    this.description = make('p', { class: 'says' });
    this.maps = make('div', { class: 'maps compare' });
    this.head = make('div', { class: 'head' }, this.title, this.description, this.maps);
    element.append(this.head);
    this.sources = recordings.map((recording) => new RecordingSource(recording));
    // The source serves both recordings; `recordingIndex` in a view tells which.
    this.source = {
      headName: (shown) => this.sources[shown.recordingIndex].headName(shown),
      captionElements: (shown) => this.sources[shown.recordingIndex].captionElements(shown),
    };
    this.comparison = new Comparison(canvasPlotly(), store.state);
    replace(this.maps, ...this.comparison.elements);
    const cellAt = (event) =>
      this.views &&
      (this.comparison.maps.find(({ plane }) => plane.contains(event.target))?.cellAt(event) ??
        findCell(this.sources[0], this.views[0], event.target));
    mountPointer(this.head, cellAt, {
      onHover: (hoverRow, hoverColumn) => store.set({ hoverRow, hoverColumn }),
      onPin: (row, column) => store.set({ row, column }),
    });
    store.on(REDRAW_FIELDS, () => this.draw());
    store.on(['row', 'column', 'hoverRow', 'hoverColumn'], () => this.highlight());
    onPage(['language', 'theme'], () => this.draw());
    new ResizeObserver(() => this.maps.clientWidth !== this.width && this.draw()).observe(this.maps);
    this.draw();
  }

  draw() {
    const { state } = this.store;
    const { kind } = state;
    this.width = this.maps.clientWidth;
    this.title.textContent = t('compare_both');
    const hasKind = this.recordings.every((recording) => recording.kinds.includes(kind));
    const labelTexts =
      hasKind && this.recordings.map((recording) => JSON.stringify(Object.values(axes(recording, kind, state)).map(getLabels)));
    this.views = null;
    this.maps.hidden = !hasKind || labelTexts[0] !== labelTexts[1];
    this.description.textContent = this.maps.hidden ? t('compare_other_tokens') : '';
    this.onComparable(!this.maps.hidden);
    if (this.maps.hidden) return;
    const visibleHead = state.preview ?? state;
    this.views = this.recordings.map((recording, index) => {
      const { layer, head } = nearestHead(recording, kind, visibleHead);
      return { ...view(recording, kind, layer, head, state), recordingIndex: index };
    });
    const [first, second] = this.views;
    this.maps.style.setProperty('--plane', `${this.comparison.show(this.source, first, second, this.width || 780)}px`);
    this.description.textContent = describeDifference(first, second, 'matrix');
    this.highlight();
  }

  highlight() {
    if (this.views) for (const map of this.comparison.maps) map.highlight(getHighlight(this.store.state));
  }
}

const getLabels = (items) => items.map(({ label }) => label);
