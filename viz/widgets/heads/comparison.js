// Two heads side by side: A, B and A − B on three maps, what each of them does, and where they differ most.

import { make, narrow, replace } from '../core/dom.js';
import { shown, state } from '../core/state.js';
import { signed, three } from '../core/view.js';
import { t } from '../core/words.js';
import { Heatmap } from '../parts/heatmap.js';
import { headName, patternSays } from '../parts/naming.js';
import { top } from '../parts/readout.js';
import { labelRoom } from '../parts/room.js';

const BETWEEN = 24; // pixels between two maps side by side
const LISTED = 6; // of the largest differences

export class Comparison {
  constructor(plotly) {
    this.maps = [new Heatmap(plotly), new Heatmap(plotly, { rowLabels: narrow() }), new Heatmap(plotly, { difference: true })];
    this.captions = this.maps.map(() => [make('h3', {}), make('p', { class: 'sub' })]);
    this.frames = this.maps.map((map, number) => make('div', { class: 'frame' }, ...this.captions[number], map.element));
    this.largest = make('div', { class: 'largest' });
    const together = ({ target: { scrollLeft, scrollTop } }) =>
      this.maps.forEach(({ element }) => Object.assign(element, { scrollLeft, scrollTop }));
    this.maps.forEach(({ element }) => element.addEventListener('scroll', together));
  }

  /** What stands on the page: the framed maps, and the list. */
  get elements() {
    return [...this.frames, this.largest];
  }

  /** A and B within so many pixels; returns how many of them the cells of one map may take. */
  show(first, second, width) {
    const weights = first.weights.map((weight, cell) => weight - second.weights[cell]);
    const difference = { ...second, maximum: true, weights };
    // One size of cells for all three: two planes side by side, with the names of the rows left of the first.
    const labels = labelRoom(second);
    const plane = Math.floor((width - labels - BETWEEN) / 2);
    const widths = narrow() ? [width, width, width] : [labels + plane, plane, labels + plane];
    this.drawCaptions();
    for (const [number, view] of [first, second, difference].entries()) {
      this.maps[number].show(view, widths[number], this.captions[number][0].textContent);
      this.frames[number].style.cssText = `min-width:${Math.min(260, widths[number])}px;max-width:${widths[number]}px`;
    }
    this.drawLargest(difference);
    return narrow() ? width : plane;
  }

  drawCaptions() {
    const { answer, kind, pinned } = state;
    const badge = (letter) => make('i', { class: letter === 'A' ? 'first' : 'second' }, letter);
    const here = [pinned, shown()];
    for (const [number, letter] of ['A', 'B'].entries()) {
      const { layer, head } = here[number];
      const [name, says] = this.captions[number];
      replace(name, badge(letter), headName(layer, head));
      replace(says, ...patternSays(answer, kind, layer, head));
    }
    const [name, says] = this.captions[2];
    replace(name, 'A − B');
    replace(says, t('difference_says'));
  }

  drawLargest({ weights, rows, columns }) {
    const buttons = top(weights, LISTED, Math.abs).map((cell) => {
      const [row, column] = [Math.floor(cell / columns.length), cell % columns.length];
      const names = `${rows[row].label} → ${columns[column].label}`;
      const value = make('span', { class: `numeric ${weights[cell] > 0 ? 'first' : 'second'}` }, signed(weights[cell], 3));
      return make('button', { type: 'button', data: { row, column } }, make('bdi', {}, names), value);
    });
    const says = make('p', { class: 'sub' }, t('largest_says'));
    replace(this.largest, make('h3', {}, t('largest_differences')), says, make('div', {}, ...buttons));
  }
}

/** How far apart A and B are, in a sentence that fits the form in which both are shown. */
export function differenceSays(first, second) {
  let [sum, count] = [0, 0];
  for (const [cell, weight] of first.weights.entries()) {
    const gap = Math.abs(weight - second.weights[cell]);
    if (gap === gap) [sum, count] = [sum + gap, count + 1];
  }
  const name = { matrix: 'compare_says', lines: 'compare_says_lines', numbers: 'compare_says_numbers' }[state.view];
  return t(name, { difference: three(sum / count) });
}
