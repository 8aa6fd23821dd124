// Charts of a model: test scores, calibration and training curves, from its card and its files.

import { make, svg } from '../core/dom.js';
import { state } from '../core/state.js';
import { hasPhrase, t } from '../core/i18n.js';

const formatPercent = (share) => share.toLocaleString(state.language, { style: 'percent' });
const formatCount = (number) => number.toLocaleString(state.language);

// ---------------------------------------------------------------- scores

/** A bar with the share of plain sentences whose translation a person judged correct; a dash if nobody judged any. */
export function makePlainSentencesBar(counts) {
  if (!counts) return make('span', { class: 'quiet', 'aria-label': t('models_plain_unread') }, '–');
  const share = counts.right / counts.read;
  const description = t('models_plain_says', { right: counts.right, read: counts.read });
  return make(
    'span',
    { class: 'share', role: 'img', 'aria-label': description, title: description },
    make('span', { class: 'track' }, make('span', { class: 'bar', style: `width:${100 * share}%` })),
    make('span', { class: 'numeric' }, formatPercent(share)),
    make('span', { class: 'name quiet' }, t('models_column_plain')), // visible in tables without headings
  );
}

/** A bar for each test set, with a mark at its goal. */
export function makeScoresChart(scores) {
  if (!scores) return null;
  const highest = Math.max(...scores.tests.flatMap(({ score, goal }) => [score, goal ?? 0]));
  const toPercent = (value) => `${(100 * value) / highest}%`;
  const row = ({ test, score, goal }) => {
    const goalMark =
      goal === null ? null : make('span', { class: 'goal', style: `left:${toPercent(goal)}`, title: t('models_goal', { goal }) });
    return [
      make('dt', { lang: 'en' }, test),
      make(
        'dd',
        {},
        make('span', { class: 'track' }, make('span', { class: 'bar', style: `width:${toPercent(score)}` }), goalMark),
        make('b', { class: 'numeric' }, score.toLocaleString(state.language, { minimumFractionDigits: 1 })),
        goal === null ? null : make('span', { class: 'quiet numeric' }, t('models_goal', { goal })),
      ),
    ];
  };
  const caption = make('figcaption', {}, make('b', {}, t('models_picture_scores')), ` ${scores.measure}`);
  return make('figure', { class: 'scores' }, caption, make('dl', {}, ...scores.tests.flatMap(row)));
}

// ---------------------------------------------------------------- reliability

const [SIDE, INSET] = [160, 8]; // pixels

/** A calibration plot: the share of right answers against the stated probability, with the diagonal of a calibrated model. */
export function makeReliabilityChart(reliability) {
  if (!reliability) return null;
  const { answers, area, curve, plain } = reliability;
  const x = (share) => (INSET + share * (SIDE - 2 * INSET)).toFixed(1);
  const y = (share) => x(1 - share);
  const maxCount = Math.max(...curve.map(([number]) => number));
  const points = curve.map(([number, stated, right]) => {
    const description = t('models_reliability_point', {
      number: formatCount(number),
      stated: formatPercent(stated),
      right: formatPercent(right),
    });
    const radius = (1.5 + 5.5 * Math.sqrt(number / maxCount)).toFixed(1);
    return svg('circle', { cx: x(stated), cy: y(right), r: radius, class: 'answers' }, svg('title', {}, description));
  });
  const frame = svg('path', { d: `M${x(0)} ${y(1)}V${y(0)}H${x(1)}`, class: 'axis' });
  const truth = svg('path', { d: `M${x(0)} ${y(0)}L${x(1)} ${y(1)}`, class: 'truth' });
  const size = { viewBox: `0 0 ${SIDE} ${SIDE}`, width: SIDE, height: SIDE, 'aria-hidden': 'true' };
  const ends = () => [make('span', {}, formatPercent(0)), make('span', {}, formatPercent(1))];
  const plot = make(
    'div',
    { class: 'square' },
    make('div', { class: 'up' }, ...ends().reverse()),
    svg('svg', size, frame, truth, ...points),
    make('div', { class: 'along' }, ...ends()),
  );
  const words = make(
    'div',
    { class: 'says' },
    make('p', {}, t('models_reliability_axes')),
    make('p', { class: 'quiet' }, t('models_reliability_says', { answers: formatCount(answers), area: area.toFixed(2) })),
    plain ? makeSentenceSquares(plain) : null,
  );
  const pointTexts = curve.map(([, probability, right]) => `${formatPercent(probability)} → ${formatPercent(right)}`).join(', ');
  const alternative = t('models_reliability_alt', { points: pointTexts });
  return make(
    'figure',
    { class: 'reliability' },
    make('figcaption', {}, make('b', {}, t('models_picture_reliability'))),
    make('div', { class: 'beside' }, make('div', { role: 'img', 'aria-label': alternative }, plot), words),
  );
}

/** A square for each plain sentence. The wrong translations are last and filled. */
function makeSentenceSquares({ right, read }) {
  const squares = Array.from({ length: read }, (_, index) => make('i', { class: index < right ? '' : 'wrong' }));
  const description = t('models_plain_says', { right, read });
  return make(
    'div',
    { class: 'sentences' },
    make('div', { class: 'squares', role: 'img', 'aria-label': description }, ...squares),
    make('p', {}, description),
  );
}

// ---------------------------------------------------------------- curves

const [WIDTH, HEIGHT, LINE_HEIGHT] = [180, 120, 16]; // pixels
/** A small chart for each measure. "loss multi30k" and "loss pud" are lines in the chart "loss". */
export function curves({ steps, series }) {
  const groups = new Map();
  for (const { name, values } of series) {
    const [measure, ...words] = name.split(' ');
    groups.set(measure, [...(groups.get(measure) ?? []), { dataset: words.join(' '), values }]);
  }
  return [...groups].map(([measure, lines]) => curve(measure, steps, lines));
}

function curve(measure, steps, lines) {
  const name = hasPhrase(`models_curve_${measure}`) ? t(`models_curve_${measure}`) : measure;
  const allValues = lines.flatMap(({ values }) => values);
  const [low, high] = [Math.min(...allValues), Math.max(...allValues)];
  const [first, last] = [steps[0], steps.at(-1)];
  const x = (step) => ((step - first) / (last - first || 1)) * WIDTH;
  const y = (value) => 8 + (1 - (value - low) / (high - low || 1)) * (HEIGHT - 16);
  const plot = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, 'aria-hidden': 'true' });
  const labels = [];
  for (const { dataset, values } of [...lines].sort((a, b) => b.values.at(-1) - a.values.at(-1))) {
    const points = values.map((value, index) => `${x(steps[index]).toFixed(1)},${y(value).toFixed(1)}`);
    plot.append(svg('polyline', { points: points.join(' '), fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5 }));
    plot.append(svg('circle', { cx: WIDTH, cy: y(values.at(-1)).toFixed(1), r: 2.5, fill: 'currentColor' }));
    const top = Math.max(y(values.at(-1)) - LINE_HEIGHT / 2, labels.length ? labels.at(-1).top + LINE_HEIGHT : 0); // so that labels do not overlap
    labels.push({ top, text: `${dataset || t('models_curve_all')} `, value: values.at(-1) });
  }
  const label = ({ top, text, value }) => make('span', { style: `top:${top.toFixed(0)}px` }, text, make('b', {}, value));
  const labelledPlot = make(
    'div',
    { class: 'plot', style: `height:${Math.max(HEIGHT, labels.at(-1).top + LINE_HEIGHT)}px` },
    plot,
    ...labels.map(label),
  );
  const stepLabels = make(
    'div',
    { class: 'steps' },
    make('span', {}, first.toLocaleString(state.language)),
    make('span', {}, last.toLocaleString(state.language)),
  );
  const description = t('models_curve_alt', { name, first, last });
  return make(
    'figure',
    { role: 'img', 'aria-label': description },
    make('figcaption', {}, make('b', {}, name), ` ${t('models_curve_by')}`),
    labelledPlot,
    stepLabels,
  );
}
