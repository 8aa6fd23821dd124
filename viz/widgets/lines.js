// Lines: tokens on both sides, joined as strongly as they attend; pointing at one thins them to its own.

import { make, replace, svg } from './dom.js';
import { comparing, state } from './state.js';
import { paint, litLevels } from './heatmap.js';
import { t } from './words.js';

const MANY = 44;
const TOP = 28; // pixels above the first line

export class Lines {
  constructor() {
    this.picture = svg('svg', { 'aria-hidden': 'true' });
    this.labels = make('div', {});
    this.element = make('div', { class: 'lines', role: 'img' }, this.labels, this.picture);
  }

  /** `views`: one, or A and B. */
  show(views, width, label) {
    this.views = views;
    const { rows, columns } = views[0];
    const count = Math.max(rows.length, columns.length);
    this.gap = count > MANY ? 16 : Math.max(24, Math.min(36, 560 / count));
    const wide = Math.min(width, 620);
    [this.left, this.right] = [wide * 0.32, wide * 0.68];
    this.element.style.cssText = `width:${wide}px;height:${count * this.gap + TOP}px`;
    this.element.setAttribute('aria-label', label);
    const item = (token, place, side) => {
      const style = [
        `top:${TOP + place * this.gap}px;height:${this.gap}px`,
        side === 'row' ? `right:${wide - this.left + 6}px` : `left:${this.right + 6}px`,
        `max-width:${this.left - 6}px`,
        count > MANY ? 'font-size:12px' : '',
      ].join(';');
      const text = make('span', { class: token.special ? 'special' : '' }, token.label);
      return make('div', { class: `label ${side}`, data: { [side]: place }, style, title: token.full }, text);
    };
    replace(
      this.labels,
      make('div', { class: 'caption', style: `right:${wide - this.left + 14}px` }, t('looking')),
      make('div', { class: 'caption', style: `left:${this.right + 14}px` }, t('looked_at')),
      ...rows.map((token, place) => item(token, place, 'row')),
      ...columns.map((token, place) => item(token, place, 'column')),
    );
  }

  light() {
    const row = state.hoverRow ?? state.row;
    const column = state.hoverColumn ?? state.column;
    const colours = comparing() ? ['var(--head-a)', 'var(--head-b)'] : ['var(--accent)'];
    const paths = this.views.flatMap((view, number) => {
      const shift = comparing() ? 3 * number - 1.5 : 0;
      return this.paths(view, colours[number], shift, row, column);
    });
    this.picture.replaceChildren(...paths);
    const lit = litLevels(this.views.at(-1), row, row === null ? column : null);
    for (const label of this.labels.querySelectorAll('.label')) {
      const side = label.dataset.row !== undefined ? 'row' : 'column';
      const place = Number(label.dataset[side]);
      paint(label, (side === 'row' ? lit.rows : lit.columns)?.[place]);
      label.classList.toggle('chosen', side === 'row' ? place === row : row === null && place === column);
    }
  }

  paths({ weights, rows, columns }, colour, shift, row, column) {
    const middle = (this.left + this.right) / 2;
    const paths = [];
    for (let r = 0; r < rows.length; r++) {
      for (let c = 0; c < columns.length; c++) {
        const weight = weights[r * columns.length + c];
        if (!(weight >= state.threshold)) continue;
        const lit = row !== null ? r === row : column === null || c === column;
        const from = TOP + (r + 0.5) * this.gap + shift;
        const to = TOP + (c + 0.5) * this.gap + shift;
        paths.push(
          svg('path', {
            d: `M${this.left} ${from}C${middle} ${from} ${middle} ${to} ${this.right} ${to}`,
            fill: 'none',
            style: `stroke:${colour}`,
            'stroke-width': this.gap < 20 ? 1.2 : 1 + weight * 3,
            'stroke-linecap': 'round',
            'stroke-opacity': lit ? Math.min(1, 0.08 + weight * 0.95) : 0.025,
          }),
        );
      }
    }
    return paths;
  }
}
