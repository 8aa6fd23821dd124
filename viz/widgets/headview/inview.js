// Note on the visible rows and columns of a map that scrolls in presentation mode.

import { make } from '../core/dom.js';
import { sentenceGap, t } from '../core/i18n.js';

/** First and last visible of `count` cells, counted from 1, in `length` pixels from `start`. Half-visible cells count. */
export function getVisibleRange(start, length, cell, count) {
  const last = Math.max(1, Math.min(count, Math.floor((start + length) / cell + 0.5)));
  return { first: Math.min(last, Math.floor(start / cell + 0.5) + 1), last, count };
}

const isCut = ({ first, last, count }) => first > 1 || last < count;

export class InView {
  /** @param {HTMLElement} scroller scroll container of the map; the note is at its lower edge */
  constructor(scroller) {
    this.scroller = scroller;
    this.element = make('p', { class: 'in-view', hidden: true });
    /** @type {any} */
    this.sizes = null;
    scroller.addEventListener('scroll', () => this.draw(), { passive: true });
  }

  /** `sizes`: counts and pixel sizes of cells and labels; null hides the note. */
  update(sizes) {
    this.sizes = sizes;
    this.element.hidden = !sizes;
    this.draw();
  }

  draw() {
    if (!this.sizes) return;
    const { rows, columns, cellWidth, cellHeight, beside, above } = this.sizes;
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.scroller;
    const rowRange = getVisibleRange(scrollTop, clientHeight - above - this.element.offsetHeight, cellHeight, rows);
    const columnRange = getVisibleRange(scrollLeft, clientWidth - beside, cellWidth, columns);
    const texts = [isCut(rowRange) ? t('map_rows_in_view', rowRange) : '', isCut(columnRange) ? t('map_columns_in_view', columnRange) : ''];
    this.element.textContent = texts.filter(Boolean).join(sentenceGap());
  }
}
