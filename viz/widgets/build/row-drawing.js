// A row of attention that the reader guesses before it is shown, by dragging bars or moving them with the arrow keys.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { measureOverlap, scaleToShares } from './matrices.js';
import { formatNumber } from '../parts/sums.js';

const KEY_STEP = 0.05; // weight that one press of an arrow key adds
const STEP_BY_KEY = { ArrowUp: KEY_STEP, ArrowRight: KEY_STEP, ArrowDown: -KEY_STEP, ArrowLeft: -KEY_STEP };
const LABEL_TOP = 0.9; // share of the height; above it a bar's number would leave the drawing

export class RowDrawing {
  /** `row`: a row of a sentence not seen in training. `state`: its `bars` and `barsCompared`. */
  constructor(row, state, { onDraw, onCompare }) {
    this.row = row;
    this.state = state;
    this.onDraw = onDraw;
    this.onCompare = onCompare;
    this.columns = row.source.map((word, index) => this.column(word, index));
    this.bars = make('div', { class: 'bars', onpointerdown: (event) => this.startDrag(event) }, ...this.columns);
    const names = row.source.map((word) => make('span', { 'aria-hidden': 'true' }, word));
    this.element = make('div', { class: 'row-drawing' }, this.bars, make('div', { class: 'bar-names' }, ...names));
    this.draw();
  }

  /** The bars scaled to a sum of 1. */
  get shares() {
    return scaleToShares(this.state.bars);
  }

  /** The score of the drawing and of equal bars, in percent. */
  get scores() {
    const { weights } = this.row;
    const equal = weights.map(() => 1 / weights.length);
    return [this.shares, equal].map((bars) => Math.round(100 * measureOverlap(bars, weights)));
  }

  column(word, index) {
    return make('div', {
      class: 'bar-column',
      role: 'slider',
      tabindex: '0',
      'aria-label': word,
      'aria-orientation': 'vertical',
      'aria-valuemin': '0',
      'aria-valuemax': '100',
      data: { bar: String(index) },
      onkeydown: (event) => this.onKey(event, index),
    });
  }

  draw() {
    const { bars, barsCompared } = this.state;
    const { shares } = this;
    this.columns.forEach((column, index) => {
      const height = barsCompared ? shares[index] : bars[index];
      const weight = this.row.weights[index];
      const labelAt = Math.min(LABEL_TOP, barsCompared ? Math.max(height, weight) : height);
      column.setAttribute('aria-valuenow', String(Math.round(shares[index] * 100)));
      column.setAttribute('aria-valuetext', barsText(shares[index], barsCompared ? weight : null));
      replace(
        column,
        make('span', { class: 'mine', style: `height: ${height * 100}%` }),
        barsCompared ? make('span', { class: 'both', style: `height: ${Math.min(height, weight) * 100}%` }) : null,
        barsCompared ? make('span', { class: 'true', style: `height: ${weight * 100}%` }) : null,
        make(
          'span',
          { class: 'number', style: `bottom: calc(${labelAt * 100}% + 6px)` },
          formatNumber(barsCompared ? weight : shares[index]),
        ),
      );
    });
  }

  set(index, height) {
    this.state.bars[index] = Math.max(0, Math.min(1, height));
    if (this.state.barsCompared) {
      this.state.barsCompared = false;
      this.onCompare(index);
      return;
    }
    this.draw();
    this.onDraw();
  }

  onKey(event, index) {
    const step = STEP_BY_KEY[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    this.set(index, this.state.bars[index] + step);
  }

  startDrag(event) {
    event.preventDefault();
    const drag = (move) => this.dragTo(move);
    const stop = () => {
      removeEventListener('pointermove', drag);
      removeEventListener('pointerup', stop);
      removeEventListener('pointercancel', stop);
    };
    addEventListener('pointermove', drag);
    addEventListener('pointerup', stop);
    addEventListener('pointercancel', stop);
    this.dragTo(event);
  }

  /** Set the bar under the pointer; one drag can draw several bars. */
  dragTo({ clientX, clientY }) {
    const boxes = this.columns.map((column) => column.getBoundingClientRect());
    const index = boxes.findIndex(({ left, right }) => clientX >= left && clientX <= right);
    if (index >= 0) this.set(index, (boxes[index].bottom - clientY) / boxes[index].height);
  }
}

const barsText = (share, weight) =>
  weight === null ? formatNumber(share) : t('build_bar_compared', { yours: formatNumber(share), model: formatNumber(weight) });
