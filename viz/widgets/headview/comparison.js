// Two heads side by side: A, B and A − B on three maps, their roles, and their largest differences.

import { make, isNarrow, replace } from '../core/dom.js';
import { threeDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { Heatmap } from './heatmap.js';
import { listLargestDifferences } from './largest-differences.js';
import { computeRowLabelWidth } from './label-size.js';

const GAP = 24; // pixels between two maps side by side

export class Comparison {
  constructor(plotly, displayOptions) {
    this.displayOptions = displayOptions;
    this.maps = [{}, { rowLabels: isNarrow() }, { difference: true }].map((options) => new Heatmap(plotly, displayOptions, options));
    this.captions = this.maps.map(() => [make('h3', {}), make('p', { class: 'sub' })]);
    this.frames = this.maps.map((map, number) => make('div', { class: 'frame' }, ...this.captions[number], map.element));
    this.largest = make('div', { class: 'largest' });
    const syncScroll = ({ target: { scrollLeft, scrollTop } }) =>
      this.maps.forEach(({ element }) => Object.assign(element, { scrollLeft, scrollTop }));
    this.maps.forEach(({ element }) => element.addEventListener('scroll', syncScroll));
  }

  get elements() {
    return [...this.frames, this.largest];
  }

  /** Renders A and B of a source within `width` pixels. Returns the width of one map's cells. */
  show(source, first, second, width) {
    const minus = (name) => first[name]?.map((value, cell) => value - second[name][cell]);
    const difference = { ...second, maximum: true, weights: minus('weights'), effects: minus('effects') };
    // All maps have the same cell size. Two fit side by side, with row labels on the left of the first.
    const labels = computeRowLabelWidth(second, this.displayOptions.fit);
    const plane = Math.floor((width - labels - GAP) / 2);
    const widths = isNarrow() ? [width, width, width] : [labels + plane, plane, labels + plane];
    this.drawCaptions(source, [first, second]);
    for (const [number, view] of [first, second, difference].entries()) {
      this.maps[number].show(view, widths[number], this.captions[number][0].textContent);
      this.frames[number].style.cssText = `min-width:${Math.min(260, widths[number])}px;max-width:${widths[number]}px`;
    }
    this.drawLargest(difference);
    return isNarrow() ? width : plane;
  }

  drawCaptions(source, views) {
    const badge = (letter) => make('i', { class: letter === 'A' ? 'first' : 'second' }, letter);
    for (const [number, letter] of ['A', 'B'].entries()) {
      const [name, label] = this.captions[number];
      replace(name, badge(letter), source.headName(views[number]));
      replace(label, ...source.captionElements(views[number]));
    }
    const [name, description] = this.captions[2];
    replace(name, 'A − B');
    replace(description, t('difference_says'));
  }

  drawLargest(difference) {
    const description = make('p', { class: 'sub' }, t('largest_says'));
    replace(this.largest, make('h3', {}, t('largest_differences')), description, make('div', {}, ...listLargestDifferences(difference)));
  }
}

/** Sentence with the mean absolute difference of A and B, worded for the view mode. */
export function describeDifference(first, second, viewMode) {
  let [sum, count] = [0, 0];
  const [a, b] = [first, second].map(({ effects, weights }) => effects ?? weights);
  for (const [cell, weight] of first.weights.entries()) {
    const gap = Math.abs(a[cell] - b[cell]);
    if (!Number.isNaN(weight + gap)) [sum, count] = [sum + gap, count + 1];
  }
  const names = { lines: 'compare_says_lines', numbers: 'compare_says_numbers' };
  const name = first.effects ? 'compare_says_effect' : (names[viewMode] ?? 'compare_says');
  return t(name, { difference: threeDecimals(sum / count) });
}
