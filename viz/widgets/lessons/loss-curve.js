// Loss of one or two runs by step, with the displayed snapshot. Dragging the curve selects a snapshot.

import { make, svg } from '../core/dom.js';
import { pageZoom } from '../core/page-zoom.js';
import { fourDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';

const SIZE = { height: 214, left: 34, right: 12, top: 14, floor: 184 }; // pixels; `floor`: y of a loss of zero
const LABEL_TOP = 92; // y of the loss labels; a falling curve starts above them and ends below them
const LABEL_SPACING = 16; // pixels between two labels

/** @typedef {import('./training-run.js').Run} Run */

export class LossCurve {
  /** `pick(step)` selects a step. */
  constructor(pick) {
    this.pick = pick;
    this.element = make('div', { class: 'loss-curve' });
    const pickAt = (event) => {
      const { left, width } = this.element.getBoundingClientRect();
      const fraction = ((event.clientX - left) / pageZoom() - SIZE.left) / Math.max(1, width / pageZoom() - SIZE.left - SIZE.right);
      this.pick(fraction * this.stepCount);
    };
    this.element.addEventListener('pointerdown', (event) => {
      this.element.setPointerCapture(event.pointerId);
      pickAt(event);
    });
    this.element.addEventListener('pointermove', (event) => event.buttons && pickAt(event));
  }

  /** @param {{ runs: Run[], names: string[], step: number }} options */
  draw({ runs, names, step }) {
    const plotWidth = Math.max(240, Math.floor(this.element.clientWidth) || 400);
    const { snapshot_steps: snapshotSteps, vocabulary } = runs[0].beginning;
    this.stepCount = snapshotSteps.at(-1);
    const guessLoss = Math.log(vocabulary); // of a model that guesses uniformly
    const maxLoss = Math.ceil(Math.max(guessLoss, ...runs.flatMap(({ losses }) => losses)) + 0.2);
    const x = (step) => SIZE.left + (step / this.stepCount) * (plotWidth - SIZE.left - SIZE.right);
    const y = (loss) => SIZE.floor - (loss / maxLoss) * (SIZE.floor - SIZE.top);
    const plot = svg('svg', {
      viewBox: `0 0 ${plotWidth} ${SIZE.height}`,
      class: 'lesson-plot',
      role: 'img',
      'aria-label': t('lesson_train_curve'),
    });
    for (let loss = 0; loss <= maxLoss; loss += 2) {
      plot.append(svg('line', { x1: SIZE.left, x2: plotWidth - SIZE.right, y1: y(loss) + 0.5, y2: y(loss) + 0.5, class: 'rule' }));
      plot.append(svg('text', { x: SIZE.left - 8, y: y(loss) + 4, 'text-anchor': 'end' }, String(loss)));
    }
    for (const fraction of [0, 0.25, 0.5, 0.75, 1]) {
      const tick = Math.round(this.stepCount * fraction);
      plot.append(svg('text', { x: x(tick), y: SIZE.height - 8, 'text-anchor': 'middle' }, String(tick)));
    }
    plot.append(svg('line', { x1: SIZE.left, x2: plotWidth - SIZE.right, y1: y(guessLoss), y2: y(guessLoss), class: 'guess' }));
    plot.append(
      svg(
        'text',
        { x: plotWidth - SIZE.right, y: y(guessLoss) - 5, 'text-anchor': 'end' },
        t('lesson_train_guess', { loss: guessLoss.toFixed(2) }),
      ),
    );
    const labels = [];
    for (const [runIndex, { losses }] of [...runs.entries()].reverse()) {
      const linePoints = (end) =>
        losses
          .slice(0, end)
          .map((loss, index) => `${x(index + 1).toFixed(1)},${y(Math.min(maxLoss, loss)).toFixed(1)}`)
          .join(' ');
      const otherClass = runIndex ? ' other' : '';
      plot.append(svg('polyline', { points: linePoints(losses.length), class: `line ahead${otherClass}` }));
      plot.append(svg('polyline', { points: linePoints(step), class: `line${otherClass}` }));
      const currentLoss = losses[Math.min(step, losses.length) - 1];
      if (currentLoss === undefined) continue;
      plot.append(
        svg('circle', { cx: x(Math.min(step, losses.length)), cy: y(Math.min(maxLoss, currentLoss)), r: 4.5, class: `now${otherClass}` }),
      );
      labels.unshift({ text: `${names[runIndex] || t('lesson_train_loss')} ${fourDecimals(currentLoss)}`, otherClass });
    }
    plot.append(svg('line', { x1: x(step), x2: x(step), y1: SIZE.top - 4, y2: SIZE.floor, class: 'moment' }));
    const isInRightHalf = step > this.stepCount * 0.55; // labels are then to the left of the line
    const attributes = { x: x(step) + (isInRightHalf ? -9 : 9), 'text-anchor': isInRightHalf ? 'end' : 'start' };
    for (const [index, { text, otherClass }] of labels.entries())
      plot.append(svg('text', { ...attributes, y: LABEL_TOP + index * LABEL_SPACING, class: `said${otherClass}` }, text));
    this.element.replaceChildren(plot);
  }
}
