// "Which heads make this link?": the heads with the largest weights for the marked cell. If the cell is pinned, the wall
// shows its weight in every head.

import { make, fillElements, replace } from '../core/dom.js';
import { formatSigned, threeDecimals } from '../core/map-view.js';
import { set, state } from '../core/state.js';
import { sameHead } from '../core/store.js';
import { t } from '../core/i18n.js';
import { shortName } from '../parts/head-names.js';
import { colourTile, resetTile } from './measure-wall.js';
import { effectLevel } from '../core/effect-scale.js';
import { sumEffects } from '../headview/highlights.js';
import { findMarkedCell, getCellWeights } from './marked-cell.js';

const MAX_LISTED_HEADS = 4;
const MIN_STRONG_WEIGHT = 0.5; // minimum weight for a head to make the link

export class LinkHeads {
  constructor(view) {
    this.view = view;
    this.title = make('h3', {});
    this.description = make('p', { class: 'quiet' });
    this.list = make('div', { class: 'bars' });
    this.back = make('button', { type: 'button', class: 'link', onclick: () => set({ column: null }) });
    this.element = make('section', { class: 'link-heads' }, this.title, this.description, this.list, this.back);
    this.list.addEventListener('click', (event) => {
      const button = event.target.closest('button');
      if (button) set({ layer: Number(button.dataset.layer), head: Number(button.dataset.head), preview: null });
    });
  }

  /** Whether the wall shows weights of the pinned cell instead of maps. */
  get coloursWall() {
    return state.row !== null && state.column !== null;
  }

  draw() {
    const { view: visible, source, grid } = this.view;
    const cell = visible && findMarkedCell(visible, state);
    this.element.hidden = !cell;
    if (!cell) return;
    const heads = getCellWeights(source, visible, state, cell);
    const name = (axis, index) => make('b', {}, source.name(visible, axis, [index]));
    const names = { query: name('rows', cell.row), key: name('columns', cell.column) };
    replace(this.title, t('link_heads'));
    const strongCount = heads.filter(({ weight }) => weight > MIN_STRONG_WEIGHT).length;
    replace(this.description, ...fillElements(t('link_heads_says', { strong: strongCount, all: heads.length }), names));
    const sortedHeads = heads.filter(({ weight }) => weight === weight).sort((a, b) => b.weight - a.weight);
    replace(this.list, ...sortedHeads.slice(0, MAX_LISTED_HEADS).map((head) => this.bar(head)));
    this.back.hidden = !this.coloursWall;
    this.back.textContent = t('link_heads_back');
    if (!this.coloursWall) return;
    grid.element.classList.add('coloured');
    if (visible.effects) return this.colourByEffect(cell);
    const weights = new Map(heads.map(({ layer, head, weight }) => [`${layer} ${head}`, weight]));
    for (const button of grid.buttons()) {
      const weight = weights.get(`${button.dataset.layer} ${button.dataset.head}`);
      if (weight === undefined || weight !== weight) resetTile(button);
      else colourTile(button, String(Math.round(100 * weight)), weight);
    }
  }

  /** Colours the wall by the cell's effect in each head, labelled in hundredths of a nat. */
  colourByEffect({ row, column }) {
    const { source, grid } = this.view;
    for (const button of grid.buttons()) {
      const [layer, head] = [Number(button.dataset.layer), Number(button.dataset.head)];
      const ownView = Number.isNaN(layer + head) ? null : source.view(state.kind, { layer, head }, state);
      if (!ownView?.effects) resetTile(button);
      else {
        const effect = sumEffects(ownView, [row], [column]);
        colourTile(button, formatSigned(100 * effect, 0), effectLevel(effect), 'difference');
      }
    }
  }

  bar({ layer, head, weight }) {
    const isSelected = sameHead({ layer, head }, this.view.updateSelection());
    const fill = make('i', { style: `width:${(100 * weight).toFixed(1)}%` });
    const attributes = { type: 'button', 'aria-pressed': String(isSelected), data: { layer, head } };
    const number = make('span', { class: 'numeric' }, threeDecimals(weight));
    return make('button', attributes, make('span', {}, shortName({ layer, head })), make('span', { class: 'track' }, fill), number);
  }
}
