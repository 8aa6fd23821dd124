// Figures other than matrices: tokens, tables, bars, histograms, lines.

import { make, svg } from '../core/dom.js';
import { fourDecimals, formatSigned, argMax, threeDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { caption } from './captions.js';
import { maxAbs, rowOf, softmax, sum } from './tensor-cache.js';

export function drawTokens(_, { scene }) {
  const cards = scene.translation.source.map((token) => {
    const name = make('bdi', { class: token.special ? 'special' : '', lang: scene.translation.model.source }, token.label);
    return make('div', {}, name, make('span', { class: 'numeric' }, token.id.toLocaleString('en')));
  });
  return [make('div', { class: 'lesson-tokens' }, ...cards)];
}

/** One row of softmax by hand: scores, powers, their sum, shares; each part of the step brings one column. */
export function drawTable(_, { scene, pick }) {
  const scores = rowOf(scene.serverTensor('scores'), scene.row);
  const allowed = scene.allowed(scene.row);
  const powers = Array.from(scores, (each, place) => (!allowed || allowed[place] ? Math.exp(each) : 0));
  const total = sum(powers);
  const weights = softmax(scores, allowed);
  const best = argMax(weights);
  const { part } = scene;
  const head = ['key', 'score', 'power', 'weight'].map((name) =>
    make('th', { scope: 'col' }, make('b', {}, t(`lesson_column_${name}`)), t(`lesson_column_${name}_says`)),
  );
  const shown = (from, now, text) =>
    make('td', { class: `numeric${part < from ? ' later' : ''}${part === now ? ' now' : ''}` }, part < from ? '' : text);
  const lines = scene.columns.map(({ label }, place) => {
    const name = make('th', { scope: 'row' }, make('bdi', {}, label));
    const bar = make('i', { style: `width:${Math.max(1, 150 * weights[place])}px` });
    const cells = [
      shown(0, 0, formatSigned(scores[place], 3)),
      shown(1, 1, formatNumber(powers[place])),
      shown(3, 3, fourDecimals(weights[place])),
    ];
    const about = { class: place === best && part > 2 ? 'best' : '', onclick: () => pick({ key: place }) };
    return make('tr', about, name, ...cells, make('td', { class: 'bar', 'aria-hidden': 'true' }, part < 3 ? null : bar));
  });
  const foot = make(
    'tr',
    {},
    make('th', { scope: 'row' }, 'Σ'),
    make('td', {}),
    shown(2, 2, formatNumber(total)),
    shown(3, 3, fourDecimals(sum(weights))),
    make('td', { class: 'bar' }),
  );
  const table = make('table', { class: 'lesson-table', 'aria-label': t('lesson_tensor_weights') });
  table.append(
    make('thead', {}, make('tr', {}, ...head, make('td', { class: 'bar' }))),
    make('tbody', {}, ...lines),
    make('tfoot', {}, foot),
  );
  return [table];
}

const formatNumber = (number) => (number >= 1e7 ? number.toExponential(3).replace('e+', ' · 10^') : threeDecimals(number));

/** The most probable next tokens. */
export function drawBars(_, { scene }) {
  const { best, log_sum: logSum } = scene.logits;
  const lines = best.map(([label, id, logit], place) => {
    const chance = Math.exp(logit - logSum);
    const bar = make('i', { class: place ? '' : 'first', style: `width:${Math.max(0.4, 100 * chance)}%` });
    const written = id === scene.translation.target[scene.look.written].id;
    return [
      make('bdi', { class: written ? 'written' : '' }, label),
      make('span', { class: 'track', 'aria-hidden': 'true' }, bar),
      make('span', { class: 'numeric' }, fourDecimals(chance)),
    ];
  });
  return [make('div', { class: 'lesson-bars' }, ...lines.flat())];
}

const PLOT = { height: 216, floor: 184, top: 40 };

/** How many of all tokens have which logit; the best are named. */
export function drawHistogram(_, { scene, width }) {
  const { counts, low, high, best } = scene.logits;
  const wide = Math.min(width, 680);
  const across = (value) => ((value - low) / (high - low)) * (wide - 24) + 4;
  const most = Math.sqrt(Math.max(...counts));
  const picture = svg('svg', {
    viewBox: `0 0 ${wide} ${PLOT.height}`,
    class: 'lesson-plot',
    role: 'img',
    'aria-label': t('lesson_tensor_logits'),
  });
  for (const [place, count] of counts.entries()) {
    if (!count) continue;
    const tall = Math.max(1.5, (Math.sqrt(count) / most) * (PLOT.floor - PLOT.top));
    const left = across(low + ((high - low) * place) / counts.length);
    picture.append(
      svg('rect', { x: left, y: PLOT.floor - tall, width: Math.max(1, (wide - 24) / counts.length - 1), height: tall, class: 'count' }),
    );
  }
  picture.append(svg('line', { x1: 0, x2: wide, y1: PLOT.floor + 0.5, y2: PLOT.floor + 0.5, class: 'rule' }));
  for (const value of ticks(low, high))
    picture.append(svg('text', { x: across(value), y: PLOT.floor + 18, 'text-anchor': 'middle' }, formatSigned(value, 0)));
  const [label, , logit] = best[0];
  const x = across(logit);
  picture.append(svg('line', { x1: x, x2: x, y1: PLOT.top, y2: PLOT.floor, class: 'best' }));
  picture.append(
    svg('text', { x: Math.min(x, wide - 4), y: PLOT.top - 8, class: 'best', 'text-anchor': 'end' }, `${label} ${formatSigned(logit, 2)}`),
  );
  picture.append(svg('text', { x: 0, y: 14 }, t('lesson_many_tokens')));
  const shape = [
    [scene.translation.target.length, 'tokens'],
    [scene.model.target_vocabulary.toLocaleString('en'), 'vocabulary'],
  ];
  const rows = best
    .slice(0, 5)
    .map(([name, , value]) => [make('bdi', {}, name), make('span', { class: 'numeric' }, fourDecimals(value).replace('-', '−'))]);
  return [caption({ name: 'logits' }, shape), picture, make('div', { class: 'lesson-candidates' }, ...rows.flat())];
}

function ticks(low, high) {
  const step = high - low > 16 ? 5 : 2;
  return Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, place) => (Math.ceil(low / step) + place) * step);
}

/** Lines over one axis, each with its name. */
export function drawCurve(figure, { scene, width }) {
  const wide = Math.min(width, 680);
  const matrices = scene.visibleTensors(figure).map((show) => scene.matrix(show));
  const most = Math.max(...matrices.map(({ numbers }) => maxAbs(numbers))) || 1;
  const picture = svg('svg', {
    viewBox: `0 0 ${wide} ${PLOT.height}`,
    class: 'lesson-plot',
    role: 'img',
    'aria-label': t(`lesson_tensor_${figure.tensors[0].name}`),
  });
  for (const [place, { numbers }] of matrices.entries()) {
    const points = Array.from(
      numbers,
      (value, at) =>
        `${((at / Math.max(1, numbers.length - 1)) * (wide - 8) + 4).toFixed(1)},${(PLOT.floor * (1 - value / most / 2) - PLOT.floor / 2 + PLOT.top / 2).toFixed(1)}`,
    );
    picture.append(svg('polyline', { points: points.join(' '), class: place ? 'line other' : 'line' }));
  }
  return [picture];
}
