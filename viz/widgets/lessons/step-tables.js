// Figures other than matrices: tokens, tables, the decoder's input and target, bars, histograms and curves.

import { make, svg } from '../core/dom.js';
import { fourDecimals, formatSigned, argMax, threeDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { caption } from './captions.js';
import { maxAbs, rowNumbers, softmax, sum } from './tensor-cache.js';

export function drawTokens(_, { scene }) {
  const tokenElements = scene.translation.source.map((token) => {
    const name = make('bdi', { class: token.special ? 'special' : '', lang: scene.translation.model.source }, token.label);
    return make('div', {}, name, make('span', { class: 'numeric' }, token.id.toLocaleString('en')));
  });
  return [make('div', { class: 'lesson-tokens' }, ...tokenElements)];
}

const [LABEL_WIDTH, COLUMN_WIDTH] = [64, 70]; // pixels of the row labels and of a position in `drawShift`

/** The decoder's input above its target, which is shifted by one position, with the loss of each position. */
export function drawShift(_, { scene, width, pick }) {
  const { translation } = scene;
  const names = () => ['reads', 'writes', 'probability', 'loss'].map((name) => make('span', {}, t(`lesson_shift_${name}`)));
  const losses = translation.target.map(({ probability }) => -Math.log(probability));
  const columns = translation.target.map((token, row) => {
    const [read, written] = [translation.previousToken('decoder', row).label, token.label];
    const numbers = [token.probability, losses[row]].map((number) => make('span', { class: 'numeric' }, fourDecimals(number)));
    const attributes = { class: row === scene.row ? 'place chosen' : 'place', onclick: () => pick({ written: row }) };
    return make('div', attributes, make('bdi', {}, read), make('bdi', { class: 'target' }, written), ...numbers);
  });
  const mean = fourDecimals(sum(losses) / losses.length);
  const perLine = Math.max(1, Math.floor((width - LABEL_WIDTH) / COLUMN_WIDTH));
  const lines = Array.from({ length: Math.ceil(columns.length / perLine) }, (_, line) =>
    make(
      'div',
      { class: 'line' },
      make('div', { class: 'place names' }, ...names()),
      ...columns.slice(line * perLine, (line + 1) * perLine),
    ),
  );
  return [
    make('div', { class: 'lesson-caption' }, make('b', {}, t('lesson_shift_title'))),
    make('div', { class: 'lesson-shift' }, ...lines),
    make('p', { class: 'quiet' }, t('lesson_shift_says', { mean, count: losses.length })),
  ];
}

/** Table of one row's softmax: scores, powers, their sum and shares. Each part of the step adds one column. */
export function drawTable(_, { scene, pick }) {
  const scores = rowNumbers(scene.serverTensor('scores'), scene.row);
  const allowed = scene.allowed(scene.row);
  const powers = Array.from(scores, (score, index) => (!allowed || allowed[index] ? Math.exp(score) : 0));
  const total = sum(powers);
  const weights = softmax(scores, allowed);
  const best = argMax(weights);
  const { part } = scene;
  const headCells = ['key', 'score', 'power', 'weight'].map((name) =>
    make('th', { scope: 'col' }, make('b', {}, t(`lesson_column_${name}`)), t(`lesson_column_${name}_says`)),
  );
  const cell = (from, current, text) =>
    make('td', { class: `numeric${part < from ? ' later' : ''}${part === current ? ' now' : ''}` }, part < from ? '' : text);
  const rows = scene.columns.map(({ label }, index) => {
    const name = make('th', { scope: 'row' }, make('bdi', {}, label));
    const bar = make('i', { style: `width:${Math.max(1, 150 * weights[index])}px` });
    const cells = [
      cell(0, 0, formatSigned(scores[index], 3)),
      cell(1, 1, formatNumber(powers[index])),
      cell(3, 3, fourDecimals(weights[index])),
    ];
    const attributes = { class: index === best && part > 2 ? 'best' : '', onclick: () => pick({ key: index }) };
    return make('tr', attributes, name, ...cells, make('td', { class: 'bar', 'aria-hidden': 'true' }, part < 3 ? null : bar));
  });
  const foot = make(
    'tr',
    {},
    make('th', { scope: 'row' }, 'Σ'),
    make('td', {}),
    cell(2, 2, formatNumber(total)),
    cell(3, 3, fourDecimals(sum(weights))),
    make('td', { class: 'bar' }),
  );
  const table = make('table', { class: 'lesson-table', 'aria-label': t('lesson_tensor_weights') });
  table.append(
    make('thead', {}, make('tr', {}, ...headCells, make('td', { class: 'bar' }))),
    make('tbody', {}, ...rows),
    make('tfoot', {}, foot),
  );
  return [table];
}

const formatNumber = (number) => (number >= 1e7 ? number.toExponential(3).replace('e+', ' · 10^') : threeDecimals(number));

/** Bars of the most probable next tokens. */
export function drawBars(_, { scene }) {
  const { best, log_sum: logSum } = scene.logits;
  const rows = best.map(([label, id, logit], index) => {
    const probability = Math.exp(logit - logSum);
    const bar = make('i', { class: index ? '' : 'first', style: `width:${Math.max(0.4, 100 * probability)}%` });
    const isWritten = id === scene.translation.target[scene.look.written].id;
    return [
      make('bdi', { class: isWritten ? 'written' : '' }, label),
      make('span', { class: 'track', 'aria-hidden': 'true' }, bar),
      make('span', { class: 'numeric' }, fourDecimals(probability)),
    ];
  });
  return [make('div', { class: 'lesson-bars' }, ...rows.flat())];
}

const PLOT = { height: 216, floor: 184, top: 40 };

/** Histogram of the logits of all tokens, with the best tokens. */
export function drawHistogram(_, { scene, width }) {
  const { counts, low, high, best } = scene.logits;
  const plotWidth = Math.min(width, 680);
  const toX = (value) => ((value - low) / (high - low)) * (plotWidth - 24) + 4;
  const maxRoot = Math.sqrt(Math.max(...counts));
  const plot = svg('svg', {
    viewBox: `0 0 ${plotWidth} ${PLOT.height}`,
    class: 'lesson-plot',
    role: 'img',
    'aria-label': t('lesson_tensor_logits'),
  });
  for (const [index, count] of counts.entries()) {
    if (!count) continue;
    const barHeight = Math.max(1.5, (Math.sqrt(count) / maxRoot) * (PLOT.floor - PLOT.top));
    const left = toX(low + ((high - low) * index) / counts.length);
    plot.append(
      svg('rect', {
        x: left,
        y: PLOT.floor - barHeight,
        width: Math.max(1, (plotWidth - 24) / counts.length - 1),
        height: barHeight,
        class: 'count',
      }),
    );
  }
  plot.append(svg('line', { x1: 0, x2: plotWidth, y1: PLOT.floor + 0.5, y2: PLOT.floor + 0.5, class: 'rule' }));
  for (const value of ticks(low, high))
    plot.append(svg('text', { x: toX(value), y: PLOT.floor + 18, 'text-anchor': 'middle' }, formatSigned(value, 0)));
  const [label, , logit] = best[0];
  const x = toX(logit);
  plot.append(svg('line', { x1: x, x2: x, y1: PLOT.top, y2: PLOT.floor, class: 'best' }));
  plot.append(
    svg(
      'text',
      { x: Math.min(x, plotWidth - 4), y: PLOT.top - 8, class: 'best', 'text-anchor': 'end' },
      `${label} ${formatSigned(logit, 2)}`,
    ),
  );
  plot.append(svg('text', { x: 0, y: 14 }, t('lesson_many_tokens')));
  const shape = [
    [scene.translation.target.length, 'tokens'],
    [scene.model.target_vocabulary.toLocaleString('en'), 'vocabulary'],
  ];
  const rows = best
    .slice(0, 5)
    .map(([name, , value]) => [make('bdi', {}, name), make('span', { class: 'numeric' }, fourDecimals(value).replace('-', '−'))]);
  return [caption({ name: 'logits' }, shape), plot, make('div', { class: 'lesson-candidates' }, ...rows.flat())];
}

function ticks(low, high) {
  const step = high - low > 16 ? 5 : 2;
  return Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, index) => (Math.ceil(low / step) + index) * step);
}

/** Curves over a common axis. */
export function drawCurve(figure, { scene, width }) {
  const plotWidth = Math.min(width, 680);
  const matrices = scene.visibleTensors(figure).map((show) => scene.matrix(show));
  const maxValue = Math.max(...matrices.map(({ numbers }) => maxAbs(numbers))) || 1;
  const plot = svg('svg', {
    viewBox: `0 0 ${plotWidth} ${PLOT.height}`,
    class: 'lesson-plot',
    role: 'img',
    'aria-label': t(`lesson_tensor_${figure.tensors[0].name}`),
  });
  for (const [index, { numbers }] of matrices.entries()) {
    const points = Array.from(
      numbers,
      (value, column) =>
        `${((column / Math.max(1, numbers.length - 1)) * (plotWidth - 8) + 4).toFixed(1)},${(PLOT.floor * (1 - value / maxValue / 2) - PLOT.floor / 2 + PLOT.top / 2).toFixed(1)}`,
    );
    plot.append(svg('polyline', { points: points.join(' '), class: index ? 'line other' : 'line' }));
  }
  return [plot];
}
