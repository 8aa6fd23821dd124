// Line plot with tooltips and a table for screen readers.

import { make, svg, tableHead } from '../core/dom.js';
import { figureTitle } from './captions.js';
import { showTooltip, hideTooltip } from '../parts/tooltip.js';
import { labelText } from './labels.js';

const FRAME = { height: 250, top: 12, right: 16, bottom: 44, left: 58 }; // pixels: height and margins
const MAX_WIDTH = 680; // pixels
const MAX_TICKS = 5; // per axis
const MAX_LABELLED_VALUES = 10; // with more x values, only round ones have labels
const LINE_STYLES = 6; // combinations of colour and dash (figures.css)

/** Ticks of an axis, and its scale, which maps values to 0…1. */
export function axis(values, { log = false, floor = null } = {}) {
  const finite = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  const [low, high] = [floor ?? Math.min(...finite), Math.max(...finite)];
  const transform = log ? Math.log : (value) => value;
  const [scaledLow, scaledHigh] = [transform(low), transform(high)];
  const scale = (value) =>
    scaledHigh > scaledLow ? (transform(Math.max(log ? low : -Infinity, value)) - scaledLow) / (scaledHigh - scaledLow) : 0.5;
  return { scale, ticks: log ? logTicks(low, high) : roundTicks(low, high) };
}

/** Round numbers between two values. */
export function roundTicks(low, high) {
  if (!(high > low)) return [low];
  const minStep = (high - low) / MAX_TICKS;
  const magnitude = 10 ** Math.floor(Math.log10(minStep));
  const step = [1, 2, 5, 10].map((factor) => factor * magnitude).find((size) => size >= minStep) ?? 10 * magnitude;
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, index) => (first + index) * step);
}

/** Powers of ten between two values: every n-th power in a wide range; 1, 2 and 5 times each power in a narrow one. */
function logTicks(low, high) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  if (last <= first) {
    const candidates = [first - 1, first, first + 1].flatMap((power) => [1, 2, 5].map((factor) => factor * 10 ** power));
    return candidates.filter((tick) => tick >= low && tick <= high);
  }
  const interval = Math.ceil((last - first + 1) / MAX_TICKS);
  return Array.from({ length: Math.floor((last - first) / interval) + 1 }, (_, index) => 10 ** (first + interval * index));
}

/** Format a number on an axis: 0.5, 1200, 10⁻⁷. */
export function formatTick(value) {
  const size = Math.abs(value);
  if (size && (size < 1e-3 || size >= 1e5)) {
    const [digits, power] = value.toExponential(0).split('e');
    const exponent = [...String(Number(power))].map((character) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(character)]).join('');
    return `${digits === '1' ? '' : `${digits.replace('-', '−')}·`}10${exponent}`;
  }
  return String(Number(value.toPrecision(4))).replace('-', '−');
}

export function drawLines({ title, x, lines, x_name: axisName, powers: logAxes, mark, floor }, { lesson, width }) {
  const plotWidth = Math.min(width, MAX_WIDTH);
  const name = labelText(lesson, title);
  const xAxis = axis(x, { log: logAxes.includes('x') });
  const yAxis = axis(
    lines.flatMap(({ y }) => y),
    { log: logAxes.includes('y'), floor },
  );
  const left = (value) => FRAME.left + xAxis.scale(value) * (plotWidth - FRAME.left - FRAME.right);
  const top = (value) => FRAME.top + (1 - yAxis.scale(value)) * (FRAME.height - FRAME.top - FRAME.bottom);
  const plot = svg('svg', { viewBox: `0 0 ${plotWidth} ${FRAME.height}`, class: 'lesson-plot', role: 'img', 'aria-label': name });
  plot.style.maxWidth = `${plotWidth}px`;
  for (const value of yAxis.ticks) {
    plot.append(svg('line', { x1: FRAME.left, x2: plotWidth - FRAME.right, y1: top(value), y2: top(value), class: 'rule' }));
    plot.append(svg('text', { x: FRAME.left - 8, y: top(value) + 4, 'text-anchor': 'end' }, formatTick(value)));
  }
  for (const value of x.length <= MAX_LABELLED_VALUES ? x : xAxis.ticks)
    plot.append(svg('text', { x: left(value), y: FRAME.height - FRAME.bottom + 18, 'text-anchor': 'middle' }, formatTick(value)));
  const xLabel = labelText(lesson, axisName);
  plot.append(svg('text', { x: plotWidth - FRAME.right, y: FRAME.height - 4, 'text-anchor': 'end' }, xLabel));
  if (mark !== null)
    plot.append(svg('line', { x1: left(mark), x2: left(mark), y1: FRAME.top, y2: FRAME.height - FRAME.bottom, class: 'mark' }));
  for (const [index, { y }] of lines.entries()) {
    const points = y.map((value, index) => `${left(x[index]).toFixed(1)},${top(value).toFixed(1)}`);
    plot.append(svg('polyline', { points: points.join(' '), class: `line look-${index % LINE_STYLES}` }));
    if (mark !== null && x.includes(mark))
      plot.append(svg('circle', { cx: left(mark), cy: top(y[x.indexOf(mark)]), r: 4, class: `dot look-${index % LINE_STYLES}` }));
  }
  const namedLines = lines.map((line) => ({ ...line, name: labelText(lesson, line.name) }));
  plot.addEventListener('pointermove', (event) => {
    const { left: start, width: displayedWidth } = plot.getBoundingClientRect();
    const pointerX = ((event.clientX - start) / displayedWidth) * plotWidth;
    const nearest = x.reduce(
      (best, value, index) => (Math.abs(left(value) - pointerX) < Math.abs(left(x[best]) - pointerX) ? index : best),
      0,
    );
    showTooltip(
      event,
      [`${xLabel} ${formatTick(x[nearest])}`, ...namedLines.map((line) => `${line.name}: ${formatTick(line.y[nearest])}`)].join(' · '),
    );
  });
  plot.addEventListener('pointerleave', hideTooltip);
  return [figureTitle(name), namedLines.length > 1 ? drawLegend(namedLines) : null, plot, screenReaderTable(name, xLabel, x, namedLines)];
}

const drawLegend = (lines) =>
  make('div', { class: 'lesson-keys' }, ...lines.map((line, index) => make('span', {}, drawSwatch(index), line.name)));

function drawSwatch(index) {
  const swatch = svg('svg', { viewBox: '0 0 24 8', width: 24, height: 8, 'aria-hidden': 'true', class: 'lesson-plot sampled' });
  swatch.append(svg('line', { x1: 0, x2: 24, y1: 4, y2: 4, class: `line look-${index % LINE_STYLES}` }));
  return swatch;
}

/** Table of the plot for screen readers, with at most 12 rows. */
function screenReaderTable(name, xLabel, x, lines) {
  const interval = Math.max(1, Math.ceil(x.length / 12));
  const rows = x.map((value, index) =>
    index % interval
      ? null
      : make('tr', {}, ...[value, ...lines.map(({ y }) => y[index])].map((number) => make('td', {}, formatTick(number)))),
  );
  const table = make(
    'table',
    { 'aria-label': name },
    tableHead([xLabel, ...lines.map((line) => line.name)]),
    make('tbody', {}, ...rows.filter(Boolean)),
  );
  return make('div', { class: 'hidden-text' }, table);
}
