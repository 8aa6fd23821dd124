// The most important heads for the sentence: predicted losses of all heads by one backward pass, next to measured ones.
// Once all heads are measured, a scatter plot shows how well the prediction ranks them.

import { callWithRetry } from '../core/boot.js';
import { make, replace, svg } from '../core/dom.js';
import { effectLevel } from '../core/effect-scale.js';
import { formatEffect } from '../core/map-view.js';
import { LatestRequest } from '../core/latest-request.js';
import { t } from '../core/i18n.js';
import { HeadBars, headName } from './head-bars.js';

const MAX_LISTED_HEADS = 5;
const [SIZE, MARGIN] = [190, 30]; // pixels: scatter plot and its margins

/** Spearman's ρ: the correlation of two lists' ranks, with mean ranks for ties. */
export function spearman(first, second) {
  const [firstRanks, secondRanks] = [ranks(first), ranks(second)];
  const mean = (firstRanks.length - 1) / 2;
  const covariance = (a, b) => a.reduce((all, rank, index) => all + (rank - mean) * (b[index] - mean), 0);
  return covariance(firstRanks, secondRanks) / Math.sqrt(covariance(firstRanks, firstRanks) * covariance(secondRanks, secondRanks));
}

function ranks(values) {
  const order = [...values.keys()].sort((a, b) => values[a] - values[b]);
  const result = Array(values.length);
  for (let from = 0, to = 0; from < order.length; from = to) {
    while (to < order.length && values[order[to]] === values[order[from]]) to++;
    for (let index = from; index < to; index++) result[order[index]] = (from + to - 1) / 2;
  }
  return result;
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
    this.cloud = make('div', { class: 'cloud' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.element = make('div', { class: 'predicted-heads' }, this.list.element, this.error, this.cloud);
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
    const size = (head) => Math.abs(getLoss(head) ?? head.predicted);
    const isMeasured = this.heads.length > 0 && this.heads.every((head) => getLoss(head) !== undefined);
    const order = [...this.heads].sort(isMeasured ? (a, b) => size(b) - size(a) : (a, b) => Math.abs(b.predicted) - Math.abs(a.predicted));
    const best = order.slice(0, MAX_LISTED_HEADS);
    const maximum = Math.max(...best.map(size), 1e-9);
    const format = (value) => (value === undefined ? '–' : formatEffect(value));
    const items = best.map((head) => ({
      ...head,
      share: size(head) / maximum,
      level: effectLevel(Math.sign(getLoss(head) ?? head.predicted)),
      numbers: [format(head.predicted), format(getLoss(head))],
    }));
    this.list.draw(items, [t('effects_head'), '', t('effects_predicted'), t('effects_measured')]);
    if (isMeasured) this.drawScatterPlot(this.heads.map((head) => ({ ...head, measured: getLoss(head) })));
    else replace(this.cloud);
  }

  /**
   * Scatter plot of the heads: predicted (x) and measured (y) losses on square-root axes, with the diagonal. A
   * point's tooltip shows its head and numbers.
   * @param {{ kind: string, layer: number, head: number, predicted: number, measured: number }[]} heads
   */
  drawScatterPlot(heads) {
    const rank = spearman(
      heads.map(({ predicted }) => predicted),
      heads.map(({ measured }) => measured),
    );
    const root = (value) => Math.sign(value) * Math.sqrt(Math.abs(value));
    const values = heads.flatMap(({ predicted, measured }) => [predicted, measured]);
    const maximum = Math.max(...values.map((value) => Math.abs(root(value))), 1e-9);
    const x = (value) => MARGIN + ((1 + root(value) / maximum) / 2) * (SIZE - MARGIN - 6);
    const y = (value) => SIZE - x(value);
    const zero = SIZE - x(0);
    const lines = [
      svg('line', { class: 'level', x1: MARGIN, x2: SIZE, y1: zero, y2: zero }),
      svg('line', { class: 'level', x1: x(0), x2: x(0), y1: 0, y2: SIZE - MARGIN }),
      svg('line', { class: 'diagonal', x1: x(-(maximum ** 2)), y1: y(-(maximum ** 2)), x2: x(maximum ** 2), y2: y(maximum ** 2) }),
    ];
    const dots = heads.map(({ predicted, measured, ...head }) => {
      const title = `${headName(head)}: ${t('effects_predicted')} ${formatEffect(predicted)}, ${t('effects_measured')} ${formatEffect(measured)}`;
      return svg('circle', { cx: x(predicted), cy: y(measured), r: 3 }, svg('title', {}, title));
    });
    const label = t('predicted_cloud', { count: heads.length });
    const words = [
      svg('text', { x: SIZE, y: SIZE - 8, 'text-anchor': 'end' }, t('effects_predicted')),
      svg('text', { x: 12, y: 8, 'text-anchor': 'end', transform: 'rotate(-90 12 8)' }, t('effects_measured')),
    ];
    const picture = svg('svg', { width: SIZE, height: SIZE, role: 'img', 'aria-label': label }, ...lines, ...dots, ...words);
    replace(this.cloud, picture, make('p', { class: 'quiet' }, t('predicted_rank', { count: heads.length, rank: rank.toFixed(2) })));
  }
}
