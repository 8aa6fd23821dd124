// Pruning: removes heads by increasing importance, with a slider or by a click on the corpus curve.

import { make, svg } from '../core/dom.js';
import { pageZoom } from '../core/page-zoom.js';
import { reconcile } from '../core/reconcile.js';
import { state } from '../core/state.js';
import { faultText, t } from '../core/i18n.js';
import { setInterventions, interventions, isHead } from './interventions.js';

const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [150, 34, 10, 22, 30]; // pixels: height of the curve and its margins

export class Pruning {
  /** `fetchCurve` and `fetchChange` call the server; `importance` has this sentence's order once it is measured. */
  constructor(fetchCurve, fetchChange, importance) {
    this.fetchCurve = fetchCurve;
    this.fetchChange = fetchChange;
    this.importance = importance;
    this.curves = new Map(); // model → corpus curve, or null
    this.loading = false; // a curve is being loaded
    this.key = '';
    this.request = null;
    this.result = null; // the server's result for the interventions
    this.orderName = 'corpus';
    this.turn = 0;
    this.running = false;
    this.firstChange = null; // number of removed heads at which this sentence's translation first changes; 0: never
    this.checkedCount = 0;
    this.fault = '';
    this.title = make('h3', {});
    this.description = make('p', { class: 'quiet' });
    this.count = make('b', { class: 'numeric' });
    this.point = make('p', { class: 'quiet numeric' });
    this.slider = make('input', { type: 'range', min: 0, step: 1, value: 0, oninput: () => this.drawText(), onchange: () => this.prune() });
    this.otherNote = make('p', { class: 'quiet' });
    this.orders = make('div', { class: 'segments', role: 'group' });
    this.findButton = make('button', {
      type: 'button',
      class: 'link',
      onclick: () => (this.running ? this.stop() : this.findFirstChange()),
    });
    this.searchStatus = make('p', { class: 'quiet numeric', role: 'status' });
    this.plot = make('div', { class: 'curve', onclick: (event) => this.pick(event) });
    this.source = make('p', { class: 'quiet' });
    this.controls = make(
      'div',
      { class: 'prune' },
      this.plot,
      this.slider,
      this.count,
      this.point,
      this.orders,
      this.otherNote,
      make('div', { class: 'more' }, this.findButton),
      this.searchStatus,
      this.source,
    );
    this.element = make('section', { class: 'pruning' }, this.title, this.description, this.controls);
    new ResizeObserver(() => this.curve && this.drawCurve()).observe(this.plot);
  }

  get curve() {
    return this.curves.get(state.translation?.model.name) ?? null;
  }

  /** Heads by increasing importance, over the corpus or in this sentence; undefined if neither is known. */
  order() {
    const ownOrder = this.importance.single.isComplete ? this.importance.byLoss() : null;
    const corpus = this.curve?.order ?? null;
    return (this.orderName === 'sentence' ? (ownOrder ?? corpus) : (corpus ?? ownOrder)) ?? [];
  }

  /** `result`: the server's result for the interventions. */
  draw(translation, result) {
    this.result = result;
    const key = JSON.stringify(translation.requestValues());
    if (key !== this.key) {
      [this.key, this.request] = [key, translation.requestValues()];
      this.orderName = 'corpus'; // the previous sentence's losses do not apply
      this.reset();
    }
    this.fetch(translation.model.name);
    this.title.textContent = t('whatif_needs');
    this.drawControls();
  }

  reset() {
    this.turn += 1;
    [this.running, this.firstChange, this.checkedCount, this.fault] = [false, null, 0, ''];
  }

  /** Load the model's curve once. */
  async fetch(name) {
    if (this.curves.has(name)) return;
    this.curves.set(name, null);
    this.loading = true;
    try {
      const { curve } = await this.fetchCurve({ request: this.request });
      this.curves.set(name, curve);
    } catch (error) {
      this.curves.delete(name);
      console.warn(error);
      return;
    } finally {
      this.loading = false;
    }
    if (state.translation?.model.name === name) this.drawControls();
  }

  drawControls() {
    const order = this.order();
    this.controls.hidden = !order.length;
    const isUnknown = this.loading && !order.length;
    this.description.textContent = isUnknown ? '' : t(order.length ? 'whatif_needs_says' : 'whatif_needs_measure');
    if (!order.length) return;
    const hasOwnOrder = this.importance.single.isComplete;
    this.slider.max = order.length;
    this.slider.setAttribute('aria-label', t('whatif_prune_slider'));
    if (document.activeElement !== this.slider) this.slider.value = this.countOff(order);
    this.orders.hidden = !(hasOwnOrder && this.curve);
    const orderButton = (name) => {
      const pick = () => {
        this.orderName = name;
        this.reset();
        this.drawControls();
      };
      return make('button', { type: 'button', 'aria-pressed': String(name === this.orderName), onclick: pick }, t(`whatif_order_${name}`));
    };
    this.orders.setAttribute('aria-label', t('whatif_orders'));
    reconcile(this.orders, orderButton('corpus'), orderButton('sentence'));
    this.findButton.textContent = t(this.running ? 'whatif_measure_stop' : 'whatif_find_change');
    this.findButton.hidden = this.firstChange !== null;
    this.searchStatus.textContent = this.searchText();
    this.plot.hidden = this.source.hidden = !this.curve;
    this.drawText();
  }

  searchText() {
    if (this.fault) return this.fault;
    if (this.firstChange) return t('whatif_first_change', { count: this.firstChange });
    if (this.firstChange === 0) return t('whatif_never_changes');
    return this.checkedCount ? t('whatif_looked', { count: this.checkedCount }) : '';
  }

  /** Number of heads that are off, counted from the start of the order up to the first that is on. */
  countOff(order) {
    const off = new Set(
      interventions()
        .filter((intervention) => intervention.action === 'remove' && isHead(intervention))
        .map(headKey),
    );
    const first = order.findIndex((item) => !off.has(headKey(item)));
    return first < 0 ? order.length : first;
  }

  /** Text for the slider position, updated while dragging. */
  drawText() {
    const count = Number(this.slider.value);
    this.count.textContent = t('whatif_prune', { count, all: Number(this.slider.max) });
    const point = this.orderName === 'corpus' && this.curve ? this.pointAt(count) : null;
    this.slider.setAttribute('aria-valuetext', this.count.textContent);
    const hasOthers = Boolean(this.result) && interventions().length !== this.countOff(this.order());
    this.otherNote.textContent = hasOthers ? t('whatif_prune_beside') : '';
    this.otherNote.hidden = !hasOthers;
    this.point.textContent = point
      ? t(point.same === 1 ? 'whatif_point_same' : 'whatif_point', {
          count: point.off,
          chrf: point.chrf.toFixed(1),
          same: Math.floor(100 * point.same),
        })
      : t('whatif_prune_says');
    if (this.curve) this.drawCurve();
  }

  /** The measured point nearest to a number of heads. */
  pointAt(count) {
    return this.curve.points.reduce((a, b) => (Math.abs(b.off - count) < Math.abs(a.off - count) ? b : a));
  }

  /** Switch off the selected number of heads; keep other interventions. */
  prune() {
    const order = this.order();
    const before = new Set(order.slice(0, this.countOff(order)).map(headKey));
    const off = order.slice(0, Number(this.slider.value));
    const removedNow = new Set(off.map(headKey));
    const keptInterventions = interventions().filter(
      (intervention) =>
        intervention.action !== 'remove' ||
        !isHead(intervention) ||
        !(before.has(headKey(intervention)) || removedNow.has(headKey(intervention))),
    );
    setInterventions([...keptInterventions, ...off.map(({ kind, layer, head }) => ({ action: 'remove', kind, layer, head }))]);
  }

  drawCurve() {
    const { points, corpus, sentences, ranked_on } = this.curve;
    const plotWidth = this.plot.clientWidth;
    if (!plotWidth) return;
    const headCount = points.at(-1).off;
    const high = Math.ceil(Math.max(...points.map(({ chrf }) => chrf)) / 20) * 20;
    const x = (off) => LEFT + (off / headCount) * (plotWidth - LEFT - RIGHT);
    const y = (chrf) => TOP + (1 - chrf / high) * (HEIGHT - TOP - BOTTOM);
    const label = (text, attributes) => svg('text', { 'font-size': 12, ...attributes }, text);
    const levels = [0, high / 2, high].flatMap((level) => [
      svg('line', { class: 'level', x1: LEFT, x2: plotWidth - RIGHT, y1: y(level), y2: y(level) }),
      label(String(level), { x: LEFT - 8, y: y(level) + 4, 'text-anchor': 'end' }),
    ]);
    const marks = [0, 1, 2, 3, 4].map((part) => Math.round((part * headCount) / 4));
    const below = marks.map((off) =>
      label(String(off), { x: x(off), y: HEIGHT - BOTTOM + 18, 'text-anchor': off === headCount ? 'end' : 'middle' }),
    );
    const line = svg('path', {
      class: 'line',
      d: points.map(({ off, chrf }, index) => `${index ? 'L' : 'M'}${x(off)} ${y(chrf)}`).join(''),
    });
    const count = Number(this.slider.value);
    const currentChrf = interpolate(points, count);
    const position =
      this.orderName === 'corpus'
        ? [
            svg('line', { class: 'now', x1: x(count), x2: x(count), y1: y(currentChrf), y2: y(0) }),
            svg('circle', { class: 'dot', cx: x(count), cy: y(currentChrf), r: 5 }),
          ]
        : [];
    const first =
      this.firstChange && this.orderName === 'corpus'
        ? [svg('line', { class: 'first', x1: x(this.firstChange), x2: x(this.firstChange), y1: TOP - 6, y2: y(0) })]
        : [];
    const name = t('whatif_curve', { sentences, all: headCount });
    const parts = [...levels, ...below, line, ...first, ...position, label('chrF', { x: LEFT - 8, y: TOP - 10, 'text-anchor': 'end' })];
    reconcile(this.plot, svg('svg', { width: plotWidth, height: HEIGHT, role: 'img', 'aria-label': name }, ...parts));
    this.scale = { headCount, width: plotWidth };
    this.source.textContent = t('whatif_curve_says', { corpus, sentences, ranked: ranked_on });
  }

  /** Clicking the curve moves the slider. */
  pick(event) {
    if (!this.scale || this.orderName !== 'corpus') return;
    const { headCount, width } = this.scale;
    const share = ((event.clientX - this.plot.getBoundingClientRect().left) / pageZoom() - LEFT) / (width - LEFT - RIGHT);
    this.slider.value = String(Math.round(Math.max(0, Math.min(1, share)) * headCount));
    this.drawText();
    this.prune();
  }

  stop() {
    this.turn += 1;
    this.running = false;
    this.drawControls();
  }

  /** Remove one head after another, in small batches, until the output changes. */
  async findFirstChange() {
    const turn = ++this.turn;
    const order = this.order().map(({ kind, layer, head }) => ({ kind, layer, head }));
    [this.running, this.fault] = [true, ''];
    this.drawControls();
    try {
      while (turn === this.turn && this.firstChange === null && state.tab === 'whatif') {
        const { found, next, all } = await this.fetchChange({ request: this.request, order, first: this.checkedCount + 1 });
        if (turn !== this.turn) return;
        this.checkedCount = (found ?? next) - 1;
        if (found) this.firstChange = found;
        else if (next > all) this.firstChange = 0;
        this.drawControls();
      }
    } catch (error) {
      if (turn === this.turn) this.fault = faultText(error);
    }
    if (turn !== this.turn) return;
    this.running = false;
    this.drawControls();
  }
}

/** Interpolate linearly between two points of the curve. */
function interpolate(points, off) {
  const after = Math.max(
    1,
    points.findIndex((point) => point.off >= off),
  );
  const [left, right] = [points[after - 1], points[after]];
  const part = (off - left.off) / (right.off - left.off);
  return left.chrf + part * (right.chrf - left.chrf);
}

const headKey = ({ kind, layer, head }) => `${kind} ${layer} ${head}`;
