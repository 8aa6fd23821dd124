// How alike two heads are: one number, the difference in common units, and the heads that come closest.

import { make, phrase, replace } from '../core/dom.js';
import { same, state } from '../core/state.js';
import { four, signed } from '../core/view.js';
import { t } from '../core/words.js';
import { differenceKey } from '../parts/legend.js';
import { headName } from '../parts/naming.js';
import { Numbers } from '../parts/numbers.js';
import { top } from '../parts/readout.js';
import { NOTHING, TwinMap, looking } from './twinmap.js';

const LISTED = 6;
const LEAST = 0.0005; // a smaller difference reads 0.000
const WIDEST = 612; // pixels of the picture

/** `does`: `choose(head)` of the second model, `point(row, column)`, `pin(row, column)`. */
export class Alike {
  constructor(plotly, does) {
    Object.assign(this, { plotly, does, marks: [NOTHING, NOTHING] });
    this.title = make('h2', {});
    this.value = make('span', { class: 'value numeric' });
    this.says = make('p', {});
    this.measure = make('p', { class: 'quiet' });
    this.rule = make('p', { class: 'quiet' });
    this.pictureTitle = make('h3', {});
    this.pictureSays = make('p', { class: 'sub' });
    this.area = make('div', { class: 'maps' });
    this.legend = make('div', { class: 'legend' });
    this.rankTitle = make('h3', {});
    this.rankSays = make('p', { class: 'sub' });
    this.rank = make('ol', { class: 'rank' });
    this.pairs = make('div', { class: 'pairs' });
    const number = make('div', { class: 'number', 'aria-live': 'polite' }, this.value, make('div', {}, this.says, this.measure, this.rule));
    this.picture = make('div', { class: 'half' }, this.pictureTitle, this.pictureSays, this.area, this.legend);
    this.lists = make('div', { class: 'lists' }, make('div', { class: 'half' }, this.rankTitle, this.rankSays, this.rank), this.pairs);
    this.body = make('div', { class: 'body' }, this.picture, this.lists);
    this.element = make('section', { class: 'alike' }, this.title, number, this.body);
    this.listen();
  }

  listen() {
    const { point, pin } = this.does;
    const inside = (event) => (this.map?.plane?.contains(event.target) ? this.map.cellAt(event) : this.labelAt(event));
    this.body.addEventListener('pointermove', (event) => event.pointerType !== 'touch' && this.view && point(...inside(event)));
    this.body.addEventListener('pointerleave', () => point(null, null));
    this.body.addEventListener('click', (event) => {
      const [row, column] = this.view ? inside(event) : [null, null];
      if (row !== null || column !== null) pin(row, column);
    });
    this.rank.addEventListener('click', (event) => {
      const button = event.target.closest('button');
      if (button) this.does.choose({ layer: Number(button.dataset.layer), head: Number(button.dataset.head) });
    });
    new ResizeObserver(() => this.resized()).observe(this.picture);
  }

  labelAt(event) {
    const label = event.target.closest('[data-row],[data-column]');
    const number = (text) => (text === undefined ? null : Number(text));
    return label ? [number(label.dataset.row), number(label.dataset.column)] : [null, null];
  }

  /** Two heads of two answers; `likeness` holds their maps in common units. */
  show(likeness, partners, heads) {
    Object.assign(this, { likeness, heads });
    const { kind, units, answers } = likeness;
    this.title.textContent = t('beside_alike');
    const shared = likeness.shared(...heads);
    const maximum = heads.some(({ head }) => head === 'max');
    this.value.textContent = shared ? four(shared.share) : '';
    const values = shared && { rows: shared.rows, all: units.rows.length + units.alone };
    this.says.textContent = t(shared ? 'beside_shared' : maximum ? 'beside_maximum' : 'beside_no_rows');
    this.measure.textContent = shared ? t('beside_measure', values) : '';
    this.rule.textContent = t(partners.same(kind, 'rows') ? 'beside_by_characters' : 'beside_by_words');
    this.body.hidden = !units.rows.length;
    if (this.body.hidden) return;
    this.view = { kind, rows: units.rows, columns: units.columns, maximum: true, weights: likeness.difference(...heads) };
    this.pictureTitle.textContent = t('beside_difference');
    this.pictureSays.textContent = t(state.view === 'numbers' ? 'largest_says' : 'difference_says');
    this.drawMap();
    replace(this.legend, state.view === 'numbers' ? null : differenceKey());
    this.drawRank(likeness.ranking(heads[0]), answers[1].model.name);
    this.drawLargest();
  }

  drawMap() {
    const form = state.view === 'numbers' ? 'numbers' : 'matrix';
    if (form !== this.form) {
      this.map?.close?.();
      this.map = form === 'numbers' ? new Numbers(() => looking(this.marks)) : new TwinMap(this.plotly, { difference: true });
      replace(this.area, this.map.element);
      this.form = form;
    }
    const name = t('beside_difference');
    if (form === 'matrix') this.map.show(this.view, Math.min(WIDEST, this.picture.clientWidth || WIDEST), name);
    else
      this.map.show(
        [0, 1].map((side) => ({ ...this.view, weights: this.likeness.map(side, this.heads[side]) })),
        name,
      );
  }

  drawRank(ranking, model) {
    const [first, second] = this.heads;
    const name = make('b', {}, headName(first.layer, first.head));
    replace(this.rankTitle, ...phrase(t('beside_rank', { model }), { head: name }));
    this.rankSays.textContent = ranking.length ? t('beside_rank_says') : t('beside_maximum');
    const focused = this.rank.contains(document.activeElement);
    const row = ({ layer, head, share }) => {
      const bar = make('span', { class: 'part' }, make('i', { style: `width:${(100 * share).toFixed(1)}%` }));
      const about = { type: 'button', 'aria-pressed': String(same({ layer, head }, second)), data: { layer, head } };
      return make(
        'li',
        {},
        make('button', about, make('span', {}, headName(layer, head)), bar, make('span', { class: 'numeric' }, four(share))),
      );
    };
    replace(this.rank, ...ranking.slice(0, LISTED).map(row));
    if (focused) (this.rank.querySelector('[aria-pressed=true]') ?? this.rank.querySelector('button'))?.focus({ preventScroll: true });
  }

  drawLargest() {
    const { rows, columns, weights } = this.view;
    const entries = top(weights, LISTED, Math.abs).filter((cell) => Math.abs(weights[cell]) >= LEAST);
    const buttons = entries.map((cell) => {
      const [row, column] = [Math.floor(cell / columns.length), cell % columns.length];
      const value = make('span', { class: `numeric ${weights[cell] > 0 ? 'first' : 'second'}` }, signed(weights[cell], 3));
      return make(
        'button',
        { type: 'button', data: { row, column } },
        make('bdi', {}, `${rows[row].label} → ${columns[column].label}`),
        value,
      );
    });
    replace(
      this.pairs,
      make('h3', {}, t('largest_differences')),
      make('p', { class: 'sub' }, t(buttons.length ? 'largest_says' : 'beside_no_difference')),
      ...buttons,
    );
  }

  light(hover, pinned) {
    this.marks = [hover, pinned];
    if (!this.view || this.body.hidden) return;
    if (this.form === 'numbers') this.map.light();
    else this.map.mark(hover, pinned);
  }

  resized() {
    const width = this.picture.clientWidth;
    if (!this.view || !width || width === this.width) return;
    this.width = width;
    this.drawMap();
  }
}
