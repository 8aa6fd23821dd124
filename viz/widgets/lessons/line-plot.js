// Line plot with tooltips, and a table for screen readers.

import { make, svg, tableHead } from '../core/dom.js';
import { figureTitle } from './captions.js';
import { showTooltip, hideTooltip } from '../parts/tooltip.js';
import { labelText } from './labels.js';

const FRAME = { height: 250, top: 12, right: 16, bottom: 44, left: 58 };
const WIDEST = 680;
const TICKS = 5;
const FEW = 10; // places of an axis that are all named
const LINE_STYLES = 6; // of lines: colours and dashes (figures.css)

/** Numbers of an axis → 0 to 1, and which of them are named. */
export function axis(values, { power = false, floor = null } = {}) {
  const finite = values.filter((value) => Number.isFinite(value) && (!power || value > 0));
  const [low, high] = [floor ?? Math.min(...finite), Math.max(...finite)];
  const bent = power ? Math.log : (value) => value;
  const [from, to] = [bent(low), bent(high)];
  const share = (value) => (to > from ? (bent(Math.max(power ? low : -Infinity, value)) - from) / (to - from) : 0.5);
  return { share, ticks: power ? powers(low, high) : roundTicks(low, high) };
}

/** Round numbers between two. */
export function roundTicks(low, high) {
  if (!(high > low)) return [low];
  const rough = (high - low) / TICKS;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * size).find((each) => each >= rough) ?? 10 * size;
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, place) => (first + place) * step);
}

/** Powers of ten between two, of very many every second or third, of few with their doubles and halves. */
function powers(low, high) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  if (last <= first) {
    const near = [first - 1, first, first + 1].flatMap((power) => [1, 2, 5].map((each) => each * 10 ** power));
    return near.filter((each) => each >= low && each <= high);
  }
  const by = Math.ceil((last - first + 1) / TICKS);
  return Array.from({ length: Math.floor((last - first) / by) + 1 }, (_, place) => 10 ** (first + by * place));
}

/** A number on an axis: 0.5, 1200, 10⁻⁷. */
export function formatTick(value) {
  const size = Math.abs(value);
  if (size && (size < 1e-3 || size >= 1e5)) {
    const [digits, power] = value.toExponential(0).split('e');
    const raised = [...String(Number(power))].map((sign) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(sign)]).join('');
    return `${digits === '1' ? '' : `${digits.replace('-', '−')}·`}10${raised}`;
  }
  return String(Number(value.toPrecision(4))).replace('-', '−');
}

export function drawLines({ title, x, lines, x_name: axisName, powers: bent, mark, floor }, { lesson, width }) {
  const wide = Math.min(width, WIDEST);
  const name = labelText(lesson, title);
  const across = axis(x, { power: bent.includes('x') });
  const up = axis(
    lines.flatMap(({ y }) => y),
    { power: bent.includes('y'), floor },
  );
  const left = (value) => FRAME.left + across.share(value) * (wide - FRAME.left - FRAME.right);
  const top = (value) => FRAME.top + (1 - up.share(value)) * (FRAME.height - FRAME.top - FRAME.bottom);
  const plot = svg('svg', { viewBox: `0 0 ${wide} ${FRAME.height}`, class: 'lesson-plot', role: 'img', 'aria-label': name });
  plot.style.maxWidth = `${wide}px`;
  for (const value of up.ticks) {
    plot.append(svg('line', { x1: FRAME.left, x2: wide - FRAME.right, y1: top(value), y2: top(value), class: 'rule' }));
    plot.append(svg('text', { x: FRAME.left - 8, y: top(value) + 4, 'text-anchor': 'end' }, formatTick(value)));
  }
  for (const value of x.length <= FEW ? x : across.ticks)
    plot.append(svg('text', { x: left(value), y: FRAME.height - FRAME.bottom + 18, 'text-anchor': 'middle' }, formatTick(value)));
  const below = labelText(lesson, axisName);
  plot.append(svg('text', { x: wide - FRAME.right, y: FRAME.height - 4, 'text-anchor': 'end' }, below));
  if (mark !== null)
    plot.append(svg('line', { x1: left(mark), x2: left(mark), y1: FRAME.top, y2: FRAME.height - FRAME.bottom, class: 'mark' }));
  for (const [place, { y }] of lines.entries()) {
    const points = y.map((value, at) => `${left(x[at]).toFixed(1)},${top(value).toFixed(1)}`);
    plot.append(svg('polyline', { points: points.join(' '), class: `line look-${place % LINE_STYLES}` }));
    if (mark !== null && x.includes(mark))
      plot.append(svg('circle', { cx: left(mark), cy: top(y[x.indexOf(mark)]), r: 4, class: `dot look-${place % LINE_STYLES}` }));
  }
  const named = lines.map((line) => ({ ...line, name: labelText(lesson, line.name) }));
  plot.addEventListener('pointermove', (event) => {
    const { left: start, width: shown } = plot.getBoundingClientRect();
    const pointed = ((event.clientX - start) / shown) * wide;
    const at = x.reduce((best, value, place) => (Math.abs(left(value) - pointed) < Math.abs(left(x[best]) - pointed) ? place : best), 0);
    showTooltip(event, [`${below} ${formatTick(x[at])}`, ...named.map((line) => `${line.name}: ${formatTick(line.y[at])}`)].join(' · '));
  });
  plot.addEventListener('pointerleave', hideTooltip);
  return [figureTitle(name), named.length > 1 ? legend(named) : null, plot, screenReaderTable(name, below, x, named)];
}

const legend = (named) => make('div', { class: 'lesson-keys' }, ...named.map((line, place) => make('span', {}, sample(place), line.name)));

function sample(place) {
  const picture = svg('svg', { viewBox: '0 0 24 8', width: 24, height: 8, 'aria-hidden': 'true', class: 'lesson-plot sampled' });
  picture.append(svg('line', { x1: 0, x2: 24, y1: 4, y2: 4, class: `line look-${place % LINE_STYLES}` }));
  return picture;
}

/** The same numbers for a screen reader: at most a dozen places of the axis. */
function screenReaderTable(name, below, x, named) {
  const every = Math.max(1, Math.ceil(x.length / 12));
  const rows = x.map((value, at) =>
    at % every ? null : make('tr', {}, ...[value, ...named.map(({ y }) => y[at])].map((each) => make('td', {}, formatTick(each)))),
  );
  const table = make(
    'table',
    { 'aria-label': name },
    tableHead([below, ...named.map((line) => line.name)]),
    make('tbody', {}, ...rows.filter(Boolean)),
  );
  return make('div', { class: 'hidden-text' }, table);
}
