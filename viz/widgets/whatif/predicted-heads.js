// The most important heads for the sentence, with their losses as predicted by one backward pass and as measured. Once all
// heads are measured, a scatter plot shows how well the prediction ranks them.

import { callWithRetry } from '../core/boot.js';
import { make, replace, svg } from '../core/dom.js';
import { effectLevel } from '../core/effect-scale.js';
import { formatEffect } from '../core/map-view.js';
import { LatestRequest } from '../core/latest-request.js';
import { t } from '../core/i18n.js';
import { HeadBars, headName } from './head-bars.js';

const MAX_LISTED_HEADS = 5;
const [SIZE, MARGIN] = [190, 30]; // pixels: width and height of the scatter plot, and its left and bottom margin

/** Spearman's ρ: the correlation of two lists' ranks, with mean ranks for ties. */
export function spearman(first, second) {
  const [firstRanks, secondRanks] = [computeRanks(first), computeRanks(second)];
  const mean = (firstRanks.length - 1) / 2;
  const covariance = (a, b) => a.reduce((sum, rank, index) => sum + (rank - mean) * (b[index] - mean), 0);
  return covariance(firstRanks, secondRanks) / Math.sqrt(covariance(firstRanks, firstRanks) * covariance(secondRanks, secondRanks));
}

/** Rank of each value from 0, in ascending order. Equal values have the mean of their ranks. */
function computeRanks(values) {
  const order = [...values.keys()].sort((a, b) => values[a] - values[b]);
  const ranks = Array(values.length);
  for (let start = 0, end = 0; start < order.length; start = end) {
    while (end < order.length && values[order[end]] === values[order[start]]) end++;
    for (let index = start; index < end; index++) ranks[order[index]] = (start + end - 1) / 2;
  }
  return ranks;
}

export class PredictedHeads {
  /** @param {import('../core/server.js').Server} server */
  constructor(server) {
    this.server = server;
    this.key = '';
    /** @type {{ kind: string, layer: number, head: number, predicted: number }[]} */
    this.heads = [];
    /** @type {Map<string, { loss: number }>} */
    this.losses = new Map();
    this.toKey = (_head) => '';
    this.list = new HeadBars();
    this.scatterPlot = make('div', { class: 'cloud' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.element = make('div', { class: 'predicted-heads' }, this.list.element, this.error, this.scatterPlot);
    this.latest = new LatestRequest(this.element, this.error, 'error_our_fault');
  }

  /** `losses`: measured losses by key; `toKey` maps a head to its key. */
  draw(translation, losses, toKey) {
    Object.assign(this, { losses, toKey });
    const query = { request: translation.requestValues() };
    const key = JSON.stringify(query);
    if (key !== this.key) [this.key, this.heads] = [key, []];
    this.latest.load(
      key,
      (signal) => callWithRetry(this.server.predict_losses, query, null, null, signal),
      ({ losses: predicted }) => {
        this.heads = Object.entries(predicted).flatMap(([kind, layers]) =>
          layers.flatMap((row, layer) => row.map((value, head) => ({ kind, layer, head, predicted: value }))),
        );
        this.drawHeads();
      },
    );
    this.drawHeads();
  }

  drawHeads() {
    const getLoss = (head) => this.losses.get(this.toKey(head))?.loss;
    const importance = (head) => Math.abs(getLoss(head) ?? head.predicted);
    const isMeasured = this.heads.length > 0 && this.heads.every((head) => getLoss(head) !== undefined);
    const sortKey = isMeasured ? importance : (head) => Math.abs(head.predicted); // a partial measurement does not reorder them
    const mostImportant = [...this.heads].sort((a, b) => sortKey(b) - sortKey(a)).slice(0, MAX_LISTED_HEADS);
    const maxImportance = Math.max(...mostImportant.map(importance), 1e-9);
    const format = (value) => (value === undefined ? '–' : formatEffect(value));
    const items = mostImportant.map((head) => ({
      ...head,
      share: importance(head) / maxImportance,
      level: effectLevel(Math.sign(getLoss(head) ?? head.predicted)),
      numbers: [format(head.predicted), format(getLoss(head))],
    }));
    this.list.draw(items, [t('effects_head'), '', t('effects_predicted'), t('effects_measured')]);
    if (isMeasured) this.drawScatterPlot(this.heads.map((head) => ({ ...head, measured: getLoss(head) })));
    else replace(this.scatterPlot);
  }

  /**
   * Scatter plot of the heads: predicted (x) and measured (y) losses on square-root axes, with the diagonal. A
   * point's tooltip shows its head and numbers.
   * @param {{ kind: string, layer: number, head: number, predicted: number, measured: number }[]} heads
   */
  drawScatterPlot(heads) {
    const correlation = spearman(
      heads.map(({ predicted }) => predicted),
      heads.map(({ measured }) => measured),
    );
    const root = (value) => Math.sign(value) * Math.sqrt(Math.abs(value));
    const values = heads.flatMap(({ predicted, measured }) => [predicted, measured]);
    const maxRoot = Math.max(...values.map((value) => Math.abs(root(value))), 1e-9);
    const limit = maxRoot ** 2; // both axes reach from −limit to limit
    const x = (value) => MARGIN + ((1 + root(value) / maxRoot) / 2) * (SIZE - MARGIN - 6);
    const y = (value) => SIZE - x(value);
    const lines = [
      svg('line', { class: 'level', x1: MARGIN, x2: SIZE, y1: y(0), y2: y(0) }),
      svg('line', { class: 'level', x1: x(0), x2: x(0), y1: 0, y2: SIZE - MARGIN }),
      svg('line', { class: 'diagonal', x1: x(-limit), y1: y(-limit), x2: x(limit), y2: y(limit) }),
    ];
    const points = heads.map(({ predicted, measured, ...head }) => {
      const title = `${headName(head)}: ${t('effects_predicted')} ${formatEffect(predicted)}, ${t('effects_measured')} ${formatEffect(measured)}`;
      return svg('circle', { cx: x(predicted), cy: y(measured), r: 3 }, svg('title', {}, title));
    });
    const label = t('predicted_cloud', { count: heads.length });
    const axisTitles = [
      svg('text', { x: SIZE, y: SIZE - 8, 'text-anchor': 'end' }, t('effects_predicted')),
      svg('text', { x: 12, y: 8, 'text-anchor': 'end', transform: 'rotate(-90 12 8)' }, t('effects_measured')),
    ];
    const plot = svg('svg', { width: SIZE, height: SIZE, role: 'img', 'aria-label': label }, ...lines, ...points, ...axisTitles);
    const text = t('predicted_rank', { count: heads.length, rank: correlation.toFixed(2) });
    replace(this.scatterPlot, plot, make('p', { class: 'quiet' }, text));
  }
}
