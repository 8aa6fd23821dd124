// How alike two heads are: one number, the difference in common units, and the heads that come closest.

import { make, phrase, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { same } from '../core/store.js';
import { four } from '../core/view.js';
import { t } from '../core/words.js';
import { formOf } from '../headview/forms.js';
import { largestDifferences } from '../headview/largest.js';
import { Maps } from '../headview/maps.js';
import { NO_MARKS } from '../headview/marks.js';
import { labelAt, listenToPointer } from '../headview/pointing.js';
import { differenceKey } from '../parts/legend.js';
import { headName } from '../parts/naming.js';
import { quickPlotly } from '../parts/quickplotly.js';

const LISTED = 6;
const LEAST = 0.0005; // a smaller difference reads 0.000
const WIDEST = 612; // pixels of the picture

/** `does`: `choose(head)` of the second model, `point(row, column)`, `pin(row, column)`. */
export class Alike {
  constructor(does) {
    this.does = does;
    this.marks = NO_MARKS;
    this.maps = new Maps(quickPlotly(), state, { widest: WIDEST, options: { difference: true } });
    this.title = make('h2', {});
    this.value = make('span', { class: 'value numeric' });
    this.says = make('p', {});
    this.measure = make('p', { class: 'quiet' });
    this.rule = make('p', { class: 'quiet' });
    this.pictureTitle = make('h3', {});
    this.pictureSays = make('p', { class: 'sub' });
    this.legend = make('div', { class: 'legend' });
    this.rankTitle = make('h3', {});
    this.rankSays = make('p', { class: 'sub' });
    this.rank = make('ol', { class: 'rank' });
    this.pairs = make('div', { class: 'pairs' });
    const number = make('div', { class: 'number', 'aria-live': 'polite' }, this.value, make('div', {}, this.says, this.measure, this.rule));
    this.picture = make('div', { class: 'half' }, this.pictureTitle, this.pictureSays, this.maps.element, this.legend);
    this.lists = make('div', { class: 'lists' }, make('div', { class: 'half' }, this.rankTitle, this.rankSays, this.rank), this.pairs);
    this.body = make('div', { class: 'body' }, this.picture, this.lists);
    this.element = make('section', { class: 'alike' }, this.title, number, this.body);
    this.listen();
  }

  listen() {
    listenToPointer(this.body, (event) => this.view && (this.maps.cellAt(event) ?? labelAt(event.target) ?? [null, null]), this.does);
    this.rank.addEventListener('click', (event) => {
      const button = event.target.closest('button');
      if (button) this.does.choose({ layer: Number(button.dataset.layer), head: Number(button.dataset.head) });
    });
    new ResizeObserver(() => this.view && this.maps.resized() && this.drawMap()).observe(this.picture);
  }

  /** Two heads of two answers; `likeness` holds their maps in common units. */
  show(likeness, partners, heads) {
    this.likeness = likeness;
    this.heads = heads;
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
    this.form = formOf(['matrix', 'numbers'], state);
    this.pictureSays.textContent = t(this.form === 'numbers' ? 'largest_says' : 'difference_says');
    this.drawMap();
    replace(this.legend, this.form === 'numbers' ? null : differenceKey());
    this.drawRank(likeness.ranking(heads[0]), answers[1].model.name);
    this.drawLargest();
  }

  drawMap() {
    const name = t('beside_difference');
    const [first, second] = [0, 1].map((side) => ({ ...this.view, weights: this.likeness.map(side, this.heads[side]) }));
    if (this.form === 'matrix') this.maps.show(null, this.view, { name });
    else this.maps.show(null, second, { other: first, form: 'numbers', name });
    this.maps.light(this.marks);
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
    const buttons = largestDifferences(this.view, LEAST);
    const says = make('p', { class: 'sub' }, t(buttons.length ? 'largest_says' : 'beside_no_difference'));
    replace(this.pairs, make('h3', {}, t('largest_differences')), says, ...buttons);
  }

  light(marks) {
    this.marks = marks;
    if (this.view && !this.body.hidden) this.maps.light(marks);
  }
}
