// Where the heads of the classifier look: a small wall, one head as text and as a map. Of long reviews only averages came.

import { FULL, decode } from '../core/answer.js';
import { loadPlotly } from '../core/boot.js';
import { make, phrase, replace, touch } from '../core/dom.js';
import { four, rowOf, strongest } from '../core/view.js';
import { t } from '../core/words.js';
import { paint } from '../parts/headgrid.js';
import { Heatmap, paint as tint } from '../parts/heatmap.js';
import { words as spans } from '../parts/strips.js';
import { placesOf } from './reviewshares.js';

const REST = 70; // milliseconds on a thumbnail before it is shown large
const LISTED = 6;
const NOWHERE = { row: null, column: null, hoverRow: null, hoverColumn: null };

export class ReviewHeads {
  constructor() {
    this.title = make('h2', {});
    this.says = make('p', { class: 'quiet' });
    this.grid = make('div', { class: 'review-wall', role: 'listbox' });
    this.list = make('div', { class: 'list' });
    this.name = make('h3', { class: 'head-name' });
    this.announced = make('p', { class: 'hidden-text', 'aria-live': 'polite' }); // chosen heads, not those pointed at
    this.shaded = make('p', { class: 'quiet shaded' });
    this.strip = make('div', { class: 'strip', lang: 'en' });
    this.value = make('span', { class: 'value numeric' });
    this.words = make('span', { class: 'words' });
    this.readout = make('div', { class: 'readout' }, this.value, this.words);
    this.area = make('div', { class: 'maps' });
    const wall = make('div', { class: 'wall' }, this.grid);
    const head = make('div', { class: 'head' }, this.name, this.announced, this.shaded, this.strip, this.readout, this.area);
    this.element = make(
      'section',
      { class: 'headlight explorer' },
      this.title,
      this.says,
      make('div', { class: 'stage' }, wall, make('div', { class: 'show' }, this.list), head),
    );
    this.reset();
    this.listen();
    new ResizeObserver(() => this.resized()).observe(this.area);
  }

  /** Another review: nothing is pointed at. */
  reset() {
    this.looking = { ...NOWHERE };
    this.preview = null;
  }

  listen() {
    let resting = 0;
    const of = (event) => event.target.closest('button');
    const place = (button) => Number(button.dataset.place);
    this.grid.addEventListener('click', (event) => of(event) && this.choose(place(of(event))));
    this.grid.addEventListener('pointerover', (event) => {
      clearTimeout(resting);
      if (of(event) && event.pointerType !== 'touch') resting = setTimeout(() => this.turn({ preview: place(of(event)) }), REST);
    });
    this.grid.addEventListener('pointerleave', () => {
      clearTimeout(resting);
      this.turn({ preview: null });
    });
    this.grid.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 3, ArrowUp: -3 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      const next = this.chosen + step;
      if (next >= 0 && next < this.views.length) this.choose(next);
      this.grid.querySelector('[aria-selected=true]').focus({ preventScroll: true });
    });
    const head = this.area.parentElement;
    head.addEventListener('pointermove', (event) => event.pointerType !== 'touch' && this.look(this.where(event), 'hover'));
    head.addEventListener('pointerleave', () => this.look([null, null], 'hover'));
    head.addEventListener('click', (event) => {
      const [row, column] = this.where(event);
      if (row === null && column === null) return;
      const again = row === this.looking.row && column === this.looking.column;
      this.look(again ? [null, null] : [row, column], '');
    });
  }

  // ---------------------------------------------------------------- doing

  choose(place) {
    this.chosen = place;
    this.turn({ preview: null });
  }

  turn({ preview }) {
    this.preview = preview;
    this.mark();
    this.drawHead();
  }

  letGo() {
    this.look([null, null], '');
  }

  look([row, column], how) {
    if (!this.views) return;
    const names = how ? ['hoverRow', 'hoverColumn'] : ['row', 'column'];
    if (this.looking[names[0]] === row && this.looking[names[1]] === column) return;
    Object.assign(this.looking, { [names[0]]: row, [names[1]]: column });
    this.light();
  }

  /** Row and column under the pointer: on the map, at its labels, in the text. */
  where(event) {
    if (!this.whole) return [null, null];
    if (this.map?.plane.contains(event.target)) return this.map.cellAt(event);
    const label = event.target.closest('[data-row],[data-column]');
    const number = (text) => (text === undefined ? null : Number(text));
    if (label) return [number(label.dataset.row), number(label.dataset.column)];
    const token = event.target.closest('.token');
    return [token ? placesOf(token)[0] : null, null];
  }

  // ---------------------------------------------------------------- drawing

  async show(review) {
    if (review !== this.review) this.take(review);
    this.title.textContent = t('sentiment_heads');
    this.says.textContent = t(this.whole ? (touch() ? 'sentiment_heads_tap' : 'sentiment_heads_says') : 'sentiment_heads_long');
    this.grid.setAttribute('aria-label', t('sentiment_heads'));
    replace(this.strip, ...spans(this.tokens, review.text));
    this.strip.classList.toggle('long', this.whole && this.tokens.length > 120);
    this.drawWall();
    this.drawHead();
    this.plotly ??= await loadPlotly();
    this.drawHead();
  }

  /** The numbers of a review: every head's map, or its average row alone; the mean of all heads last. */
  take(review) {
    this.review = review;
    this.whole = Boolean(review.attention);
    this.tokens = review.tokens.map((token, place) => ({ ...token, key: `r${place}`, full: token.full ?? token.label, places: [place] }));
    const [layers, heads] = review.shape;
    const places = [...Array(layers * heads).keys()].map((place) => [Math.floor(place / heads), place % heads]);
    const about = {
      kind: 'encoder',
      rows: this.whole ? this.tokens : [{ ...this.tokens[0], key: 'mean', label: '', full: '' }],
      columns: this.tokens,
    };
    const numbers = this.whole ? decode(review.attention.weights) : null;
    const size = this.tokens.length ** 2;
    const map = (place) => Float32Array.from(numbers.subarray(place * size, (place + 1) * size), (number) => number / FULL);
    const weights = (layer, head) => (this.whole ? map(layer * heads + head) : Float32Array.from(review.received[layer][head]));
    const single = places.map(([layer, head]) => ({
      ...about,
      layer,
      head,
      weights: weights(layer, head),
      average: Float32Array.from(review.received[layer][head]),
    }));
    this.views = [
      ...single,
      {
        ...about,
        layer: 'mean',
        head: 'mean',
        weights: mean(single.map((view) => view.weights)),
        average: mean(single.map((view) => view.average)),
      },
    ];
    this.chosen = Math.min(this.chosen ?? 0, this.views.length - 1);
  }

  headName({ layer, head }) {
    if (head === 'mean') return t('sentiment_mean');
    const name = this.review.shape[0] > 1 ? 'sentiment_layer_head' : 'sentiment_head';
    return t(name, { layer: layer + 1, head: head + 1 });
  }

  drawWall() {
    const thumbs = this.views.map((view, place) => {
      const label = this.headName(view);
      const canvas = make('canvas', { 'aria-hidden': 'true' });
      paint(canvas, this.whole ? view : { ...view, weights: scaled(view.weights) });
      const short = view.head === 'mean' ? t('sentiment_mean_short') : String(place + 1);
      const button = make(
        'button',
        { type: 'button', class: 'thumb', role: 'option', 'aria-label': label, title: label, data: { place, pin: '' } },
        canvas,
      );
      return make('div', { class: 'cell', role: 'presentation' }, button, make('span', { class: 'caption', 'aria-hidden': 'true' }, short));
    });
    const focused = this.grid.contains(document.activeElement);
    replace(this.grid, ...thumbs);
    this.mark();
    if (focused) this.grid.querySelector('[aria-selected=true]').focus({ preventScroll: true });
  }

  mark() {
    for (const button of this.grid.querySelectorAll('button')) {
      const chosen = Number(button.dataset.place) === this.chosen;
      button.setAttribute('aria-selected', String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    }
  }

  drawHead() {
    if (!this.views || !this.area.clientWidth) return;
    this.view = this.views[this.preview ?? this.chosen];
    const name = this.headName(this.view);
    this.name.textContent = name;
    const chosen = this.headName(this.views[this.chosen]);
    if (this.announced.textContent !== chosen) this.announced.textContent = chosen;
    if (this.whole && this.plotly) {
      this.map ??= new Heatmap(this.plotly);
      if (!this.map.element.isConnected) replace(this.area, this.map.element);
      this.map.show(this.view, this.area.clientWidth, t('sentiment_map_alt', { name }));
    } else if (!this.whole) {
      this.map?.close();
      this.map = null;
      replace(this.area);
    }
    this.light();
  }

  /** The text, shaded by what the lit token looks at, else by what the head looks at on average. */
  light() {
    const { view, tokens } = this;
    const { row, column, hoverRow, hoverColumn } = this.looking;
    const lit = this.whole ? (hoverRow ?? row) : null;
    const pointed = hoverColumn ?? column;
    const weights = lit === null ? view.average : rowOf(view, lit);
    const most = Math.max(1e-9, ...weights);
    for (const span of this.strip.querySelectorAll('.token')) {
      const places = placesOf(span);
      tint(span, places.reduce((sum, place) => sum + weights[place], 0) / most);
      span.classList.toggle('chosen', lit !== null && places.includes(lit));
    }
    const name = (place) => make('b', {}, make('bdi', { lang: 'en' }, tokens[place].label));
    const says = t(lit === null ? 'sentiment_average' : 'sentiment_row', { most: four(most) });
    replace(this.shaded, ...phrase(says, lit === null ? {} : { token: name(lit) }));
    const column_ = pointed ?? strongest(weights);
    this.value.textContent = four(weights[column_]);
    const looks =
      lit === null
        ? phrase(t('sentiment_gets'), { token: name(column_) })
        : phrase(t('looks_at'), { query: name(lit), key: name(column_) });
    replace(this.words, ...looks);
    this.map?.light(this.looking);
    this.drawList(weights, lit === null ? [t('sentiment_most')] : phrase(t('sentiment_row_list'), { token: name(lit) }));
  }

  drawList(weights, title) {
    const order = [...weights.keys()].sort((one, other) => weights[other] - weights[one]).slice(0, LISTED);
    const rows = order.map((place) => {
      const bar = make('i', { style: `width:${((100 * weights[place]) / Math.max(1e-9, weights[order[0]])).toFixed(2)}%` });
      return make(
        'div',
        {},
        make('span', {}, make('bdi', { lang: 'en' }, this.tokens[place].label)),
        make('span', {}, bar),
        make('span', { class: 'numeric' }, four(weights[place])),
      );
    });
    replace(this.list, make('h3', {}, ...title), ...rows);
  }

  resized() {
    if (!this.view || this.width === this.area.clientWidth) return;
    this.width = this.area.clientWidth;
    this.drawHead();
  }
}

/** An average row has no weight near one: its strongest takes the strongest colour. */
function scaled(weights) {
  const most = Math.max(1e-9, ...weights);
  return weights.map((weight) => weight / most);
}

function mean(arrays) {
  const sum = new Float32Array(arrays[0].length);
  for (const array of arrays) for (let cell = 0; cell < sum.length; cell++) sum[cell] += array[cell] / arrays.length;
  return sum;
}
