// Pruning: removes heads by increasing importance, with a slider or by a click on the curve of the translations' quality.

import { callWithRetry } from '../core/boot.js';
import { make, svg } from '../core/dom.js';
import { pageZoom } from '../core/page-zoom.js';
import { reconcile } from '../core/reconcile.js';
import { state } from '../core/state.js';
import { faultText, t } from '../core/i18n.js';
import { setInterventions, interventions, isHead } from './interventions.js';

const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [150, 34, 10, 22, 30]; // pixels: height of the curve and its margins
const CHRF_TICK_STEP = 20; // the upper end of the chrF axis is a multiple

export class Pruning {
  /**
   * @param {import('../core/server.js').Server} server
   * @param {import('./importance.js').Importance} importance has this sentence's order of heads once it is measured
   */
  constructor(server, importance) {
    this.server = server;
    this.importance = importance;
    this.curves = new Map(); // model → corpus curve, or null
    this.loading = false; // a curve is being loaded
    this.key = '';
    this.request = null;
    this.result = null; // the server's result for the interventions
    this.orderName = 'corpus';
    this.generation = 0; // incremented to discard responses of older requests
    this.running = false;
    /** @type {number | null} */
    this.firstChange = null; // number of removed heads at which this sentence's translation first changes
    this.neverChanges = false; // whether the translation stays the same without all heads
    this.checkedCount = 0; // numbers of removed heads that have been tried without a change
    this.fault = '';
    this.title = make('h3', {});
    this.description = make('p', { class: 'quiet' });
    this.countText = make('b', { class: 'numeric' });
    this.pointText = make('p', { class: 'quiet numeric' }); // the corpus measurement nearest to the slider
    this.slider = make('input', {
      type: 'range',
      min: 0,
      step: 1,
      value: 0,
      oninput: () => this.drawSelection(),
      onchange: () => this.removeHeads(),
    });
    this.otherInterventionsNote = make('p', { class: 'quiet' });
    this.orders = make('div', { class: 'segments', role: 'group' });
    this.findButton = make('button', {
      type: 'button',
      class: 'link',
      onclick: () => (this.running ? this.stop() : this.findFirstChange()),
    });
    this.searchStatus = make('p', { class: 'quiet numeric', role: 'status' });
    this.plot = make('div', { class: 'curve', onclick: (event) => this.removeHeadsAt(event) });
    this.sourceNote = make('p', { class: 'quiet' });
    const slider = [this.slider, this.countText, this.pointText, this.orders, this.otherInterventionsNote];
    const search = [make('div', { class: 'more' }, this.findButton), this.searchStatus];
    this.controls = make('div', { class: 'prune' }, this.plot, ...slider, ...search, this.sourceNote);
    this.element = make('section', { class: 'pruning' }, this.title, this.description, this.controls);
    new ResizeObserver(() => this.curve && this.drawCurve()).observe(this.plot);
  }

  get curve() {
    return this.curves.get(state.translation?.model.name) ?? null;
  }

  /**
   * Heads by increasing importance in this sentence or over the corpus, as selected. The other order if the selected one is
   * unknown; empty if both are.
   */
  getOrder() {
    const sentenceOrder = this.importance.single.isComplete ? this.importance.sortByLoss() : null;
    const corpusOrder = this.curve?.order ?? null;
    return (this.orderName === 'sentence' ? (sentenceOrder ?? corpusOrder) : (corpusOrder ?? sentenceOrder)) ?? [];
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
    this.loadCurve(translation.model.name);
    this.title.textContent = t('whatif_needs');
    this.drawControls();
  }

  /** Stops the search for the first change and discards its result. */
  reset() {
    this.generation += 1;
    [this.running, this.firstChange, this.neverChanges, this.checkedCount, this.fault] = [false, null, false, 0, ''];
  }

  /** Loads the corpus curve of a model once, and draws it. */
  async loadCurve(modelName) {
    if (this.curves.has(modelName)) return;
    this.curves.set(modelName, null);
    this.loading = true;
    try {
      const { curve } = await callWithRetry(this.server.pruning_curve, { request: this.request });
      this.curves.set(modelName, curve);
    } catch (error) {
      this.curves.delete(modelName);
      console.warn(error);
      return;
    } finally {
      this.loading = false;
    }
    if (state.translation?.model.name === modelName) this.drawControls();
  }

  drawControls() {
    const order = this.getOrder();
    this.controls.hidden = !order.length;
    const isPending = this.loading && !order.length;
    this.description.textContent = isPending ? '' : t(order.length ? 'whatif_needs_says' : 'whatif_needs_measure');
    if (!order.length) return;
    const hasSentenceOrder = this.importance.single.isComplete;
    this.slider.max = order.length;
    this.slider.setAttribute('aria-label', t('whatif_prune_slider'));
    if (document.activeElement !== this.slider) this.slider.value = this.countRemovedHeads(order);
    this.orders.hidden = !(hasSentenceOrder && this.curve);
    const orderButton = (name) => {
      const onclick = () => {
        this.orderName = name;
        this.reset();
        this.drawControls();
      };
      return make('button', { type: 'button', 'aria-pressed': String(name === this.orderName), onclick }, t(`whatif_order_${name}`));
    };
    this.orders.setAttribute('aria-label', t('whatif_orders'));
    reconcile(this.orders, orderButton('corpus'), orderButton('sentence'));
    this.findButton.textContent = t(this.running ? 'whatif_measure_stop' : 'whatif_find_change');
    this.findButton.hidden = this.firstChange !== null || this.neverChanges;
    this.searchStatus.textContent = this.searchText();
    this.plot.hidden = this.sourceNote.hidden = !this.curve;
    this.drawSelection();
  }

  searchText() {
    if (this.fault) return this.fault;
    if (this.firstChange !== null) return t('whatif_first_change', { count: this.firstChange });
    if (this.neverChanges) return t('whatif_never_changes');
    return this.checkedCount ? t('whatif_looked', { count: this.checkedCount }) : '';
  }

  /** Number of removed heads at the start of the order, before the first head that is not removed. */
  countRemovedHeads(order) {
    const removedKeys = new Set(
      interventions()
        .filter((intervention) => intervention.action === 'remove' && isHead(intervention))
        .map(headKey),
    );
    const firstActive = order.findIndex((head) => !removedKeys.has(headKey(head)));
    return firstActive < 0 ? order.length : firstActive;
  }

  /** Draws the texts and the curve for the slider's position, also while it is dragged. */
  drawSelection() {
    const count = Number(this.slider.value);
    this.countText.textContent = t('whatif_prune', { count, all: Number(this.slider.max) });
    const point = this.orderName === 'corpus' && this.curve ? this.findNearestPoint(count) : null;
    this.slider.setAttribute('aria-valuetext', this.countText.textContent);
    const hasOthers = Boolean(this.result) && interventions().length !== this.countRemovedHeads(this.getOrder());
    this.otherInterventionsNote.textContent = hasOthers ? t('whatif_prune_beside') : '';
    this.otherInterventionsNote.hidden = !hasOthers;
    this.pointText.textContent = point
      ? t(point.same === 1 ? 'whatif_point_same' : 'whatif_point', {
          count: point.off,
          chrf: point.chrf.toFixed(1),
          same: Math.floor(100 * point.same),
        })
      : t('whatif_prune_says');
    if (this.curve) this.drawCurve();
  }

  /** The measured point of the curve nearest to a number of removed heads: {off: removed heads, chrf, same: fraction}. */
  findNearestPoint(count) {
    return this.curve.points.reduce((a, b) => (Math.abs(b.off - count) < Math.abs(a.off - count) ? b : a));
  }

  /** Removes the selected number of heads and restores the others of the order; other interventions stay. */
  removeHeads() {
    const order = this.getOrder();
    const heads = order.slice(0, Number(this.slider.value));
    const previouslyRemoved = order.slice(0, this.countRemovedHeads(order));
    const replacedKeys = new Set([...previouslyRemoved, ...heads].map(headKey));
    const otherInterventions = interventions().filter(
      (intervention) => intervention.action !== 'remove' || !isHead(intervention) || !replacedKeys.has(headKey(intervention)),
    );
    setInterventions([...otherInterventions, ...heads.map(({ kind, layer, head }) => ({ action: 'remove', kind, layer, head }))]);
  }

  drawCurve() {
    const { points, corpus, sentences, ranked_on } = this.curve;
    const plotWidth = this.plot.clientWidth;
    if (!plotWidth) return;
    const headCount = points.at(-1).off;
    const yMax = Math.ceil(Math.max(...points.map(({ chrf }) => chrf)) / CHRF_TICK_STEP) * CHRF_TICK_STEP;
    const x = (removed) => LEFT + (removed / headCount) * (plotWidth - LEFT - RIGHT);
    const y = (chrf) => TOP + (1 - chrf / yMax) * (HEIGHT - TOP - BOTTOM);
    const label = (text, attributes) => svg('text', { 'font-size': 12, ...attributes }, text);
    const gridLines = [0, yMax / 2, yMax].flatMap((chrf) => [
      svg('line', { class: 'level', x1: LEFT, x2: plotWidth - RIGHT, y1: y(chrf), y2: y(chrf) }),
      label(String(chrf), { x: LEFT - 8, y: y(chrf) + 4, 'text-anchor': 'end' }),
    ]);
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((fraction) => Math.round(fraction * headCount));
    const tickLabels = ticks.map((tick) =>
      label(String(tick), { x: x(tick), y: HEIGHT - BOTTOM + 18, 'text-anchor': tick === headCount ? 'end' : 'middle' }),
    );
    const line = svg('path', {
      class: 'line',
      d: points.map(({ off, chrf }, index) => `${index ? 'L' : 'M'}${x(off)} ${y(chrf)}`).join(''),
    });
    const count = Number(this.slider.value);
    const currentChrf = interpolateChrf(points, count);
    const sliderMarker =
      this.orderName === 'corpus'
        ? [
            svg('line', { class: 'now', x1: x(count), x2: x(count), y1: y(currentChrf), y2: y(0) }),
            svg('circle', { class: 'dot', cx: x(count), cy: y(currentChrf), r: 5 }),
          ]
        : [];
    const firstChangeMarker =
      this.firstChange !== null && this.orderName === 'corpus'
        ? [svg('line', { class: 'first', x1: x(this.firstChange), x2: x(this.firstChange), y1: TOP - 6, y2: y(0) })]
        : [];
    const description = t('whatif_curve', { sentences, all: headCount });
    const axisTitle = label('chrF', { x: LEFT - 8, y: TOP - 10, 'text-anchor': 'end' });
    const marks = [...gridLines, ...tickLabels, line, ...firstChangeMarker, ...sliderMarker, axisTitle];
    reconcile(this.plot, svg('svg', { width: plotWidth, height: HEIGHT, role: 'img', 'aria-label': description }, ...marks));
    this.xScale = { headCount, plotWidth };
    this.sourceNote.textContent = t('whatif_curve_says', { corpus, sentences, ranked: ranked_on });
  }

  /** Removes the number of heads at the clicked point of the corpus curve, and moves the slider there. */
  removeHeadsAt(event) {
    if (!this.xScale || this.orderName !== 'corpus') return;
    const { headCount, plotWidth } = this.xScale;
    const fraction = ((event.clientX - this.plot.getBoundingClientRect().left) / pageZoom() - LEFT) / (plotWidth - LEFT - RIGHT);
    this.slider.value = String(Math.round(Math.max(0, Math.min(1, fraction)) * headCount));
    this.drawSelection();
    this.removeHeads();
  }

  /** Stops the search for the first change; it can be resumed. */
  stop() {
    this.generation += 1;
    this.running = false;
    this.drawControls();
  }

  /** Searches for the number of removed heads that first changes the translation. The server tries the numbers in batches. */
  async findFirstChange() {
    const generation = ++this.generation;
    const order = this.getOrder().map(({ kind, layer, head }) => ({ kind, layer, head }));
    [this.running, this.fault] = [true, ''];
    this.drawControls();
    try {
      while (generation === this.generation && this.firstChange === null && !this.neverChanges && state.tab === 'whatif') {
        const values = { request: this.request, order, first: this.checkedCount + 1 };
        const { found, next, all } = await callWithRetry(this.server.find_change, values);
        if (generation !== this.generation) return;
        this.checkedCount = (found ?? next) - 1;
        if (found) this.firstChange = found;
        else if (next > all) this.neverChanges = true;
        this.drawControls();
      }
    } catch (error) {
      if (generation === this.generation) this.fault = faultText(error);
    }
    if (generation !== this.generation) return;
    this.running = false;
    this.drawControls();
  }
}

/** The chrF at a number of removed heads, interpolated linearly between the measured points. */
function interpolateChrf(points, removed) {
  const rightIndex = Math.max(
    1,
    points.findIndex((point) => point.off >= removed),
  );
  const [left, right] = [points[rightIndex - 1], points[rightIndex]];
  const fraction = (removed - left.off) / (right.off - left.off);
  return left.chrf + fraction * (right.chrf - left.chrf);
}

const headKey = ({ kind, layer, head }) => `${kind} ${layer} ${head}`;
