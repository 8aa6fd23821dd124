// The lines view: tokens on both sides, joined by lines whose opacity follows the weight. Hovering a token fades the
// lines of other tokens.

import { make, replace, setScrollable, svg } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { rowName, rowText } from '../parts/row-name.js';
import { getHighlightLevels, mergeHighlight } from './highlights.js';
import { paint } from './shading.js';
import { hideUnwrittenLabels } from './unwritten.js';

const MAX_UNSCROLLED_TOKENS = 44; // tokens; longer sentences scroll

export class Lines {
  constructor(displayOptions) {
    this.displayOptions = displayOptions;
    /** @type {import('../core/map-view.js').View[]} */
    this.views = [];
    this.gap = 0; // pixels, like `left` and `right`; set by `show`
    this.left = 0;
    this.right = 0;
    this.picture = svg('svg', { 'aria-hidden': 'true' });
    this.labels = make('div', {});
    this.captions = ['looking', 'looked_at'].map(() => make('span', {}));
    this.top = make('div', { class: 'captions' }, ...this.captions);
    this.sheet = make('div', { class: 'sheet', role: 'img' }, this.labels, this.picture);
    this.element = make('div', { class: 'lines' }, this.top, this.sheet);
  }

  /** `views`: one view, or A and B of a comparison. */
  show(views, width, label) {
    this.views = views;
    const { rows, columns } = views[0];
    const count = Math.max(rows.length, columns.length);
    this.gap = count > MAX_UNSCROLLED_TOKENS ? 16 : Math.max(24, Math.min(36, 560 / count));
    const totalWidth = Math.min(width, 620);
    this.left = totalWidth * 0.32;
    this.right = totalWidth * 0.68;
    this.sheet.style.cssText = `width:${totalWidth}px;height:${count * this.gap}px`;
    this.sheet.setAttribute('aria-label', label);
    this.sheet.classList.toggle('late', Boolean(views[0].late));
    setScrollable(this.element, count > MAX_UNSCROLLED_TOKENS);
    for (const [captionIndex, name] of ['looking', 'looked_at'].entries()) this.captions[captionIndex].textContent = t(name);
    this.captions[0].style.cssText = `width:${this.left - 14}px`;
    this.captions[1].style.cssText = `margin-inline-start:${this.right - this.left + 28}px`;
    this.top.style.width = `${totalWidth}px`;
    const item = (token, row, side) => {
      const style = [
        `top:${row * this.gap}px;height:${this.gap}px`,
        side === 'row' ? `right:${totalWidth - this.left + 6}px` : `left:${this.right + 6}px`,
        `max-width:${this.left - 6}px`,
        count > MAX_UNSCROLLED_TOKENS ? 'font-size:12px' : '',
      ].join(';');
      const text = side === 'row' ? rowName(token) : make('span', { class: token.special ? 'special' : '' }, token.label);
      return make('div', { class: `label ${side}`, data: { [side]: row }, style, title: token.read ? rowText(token) : token.full }, text);
    };
    const labels = [
      ...rows.map((token, position) => item(token, position, 'row')),
      ...columns.map((token, index) => item(token, index, 'column')),
    ];
    replace(this.labels, ...labels);
  }

  /** Hides labels and lines of rows that are not written yet. */
  hideUnwritten(size) {
    this.drawnSize = size;
    hideUnwrittenLabels(this.labels, size);
  }

  highlight(marks) {
    const highlight = mergeHighlight(marks);
    const isComparison = this.views.length > 1;
    const colours = isComparison ? ['var(--head-a)', 'var(--head-b)'] : ['var(--accent)'];
    const paths = this.views.flatMap((view, number) => {
      const shift = isComparison ? 3 * number - 1.5 : 0;
      return this.paths(view, colours[number], shift, highlight);
    });
    this.picture.replaceChildren(...paths);
    const levels = getHighlightLevels(this.views[this.views.length - 1], highlight, this.displayOptions.scale);
    for (const label of this.labels.querySelectorAll('.label')) {
      const side = label.dataset.row !== undefined ? 'row' : 'column';
      const index = Number(label.dataset[side]);
      paint(label, (side === 'row' ? levels.rows : levels.columns)?.[index], this.displayOptions.palette);
      const selectedIndices = side === 'row' ? highlight.rows : highlight.rows ? null : highlight.columns;
      label.classList.toggle('chosen', Boolean(selectedIndices?.includes(index)));
    }
    if (!this.element.matches(':hover')) this.scrollIntoView((highlight.rows ?? highlight.columns)?.[0] ?? null);
  }

  /** Scrolls to the selection. */
  scrollIntoView(index) {
    const { scrollTop, clientHeight, scrollHeight } = this.element;
    if (index === null || scrollHeight <= clientHeight) return;
    const y = (index + 0.5) * this.gap;
    if (y < scrollTop || y > scrollTop + clientHeight - 2 * this.gap) this.element.scrollTop = y - clientHeight / 2;
  }

  paths({ weights, rows, columns }, colour, shift, highlight) {
    const middle = (this.left + this.right) / 2;
    const paths = [];
    for (let r = 0; r < Math.min(rows.length, this.drawnSize?.rows ?? rows.length); r++) {
      for (let c = 0; c < columns.length; c++) {
        const weight = weights[r * columns.length + c];
        if (!(weight >= this.displayOptions.threshold)) continue;
        const isHighlighted = highlight.rows ? highlight.rows.includes(r) : !highlight.columns || highlight.columns.includes(c);
        const rowY = (r + 0.5) * this.gap + shift;
        const columnY = (c + 0.5) * this.gap + shift;
        paths.push(
          svg('path', {
            d: `M${this.left} ${rowY}C${middle} ${rowY} ${middle} ${columnY} ${this.right} ${columnY}`,
            fill: 'none',
            style: `stroke:${colour}`,
            'stroke-width': this.gap < 20 ? 1.2 : 1 + weight * 3,
            'stroke-linecap': 'round',
            'stroke-opacity': isHighlighted ? Math.min(1, 0.08 + weight * 0.95) : 0.025,
          }),
        );
      }
    }
    return paths;
  }
}
