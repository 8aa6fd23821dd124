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
    const point = (event) => {
      const { left, width } = this.element.getBoundingClientRect();
      const share = ((event.clientX - left) / pageZoom() - SIZE.left) / Math.max(1, width / pageZoom() - SIZE.left - SIZE.right);
      this.pick(share * this.steps);
    };
    this.element.addEventListener('pointerdown', (event) => {
      this.element.setPointerCapture(event.pointerId);
      point(event);
    });
    this.element.addEventListener('pointermove', (event) => event.buttons && point(event));
  }

  /** @param {{ runs: Run[], names: string[], step: number }} options */
  draw({ runs, names, step }) {
    const plotWidth = Math.max(240, Math.floor(this.element.clientWidth) || 400);
    const first = runs[0].beginning;
    this.steps = first.snapshot_steps.at(-1);
    const guessLoss = Math.log(first.vocabulary);
    const maxLoss = Math.ceil(Math.max(guessLoss, ...runs.flatMap(({ losses }) => losses)) + 0.2);
    const x = (step) => SIZE.left + (step / this.steps) * (plotWidth - SIZE.left - SIZE.right);
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
    for (let part = 0; part <= 4; part++) {
      const step = Math.round((this.steps * part) / 4);
      plot.append(svg('text', { x: x(step), y: SIZE.height - 8, 'text-anchor': 'middle' }, String(step)));
    }
    plot.append(svg('line', { x1: SIZE.left, x2: plotWidth - SIZE.right, y1: y(guessLoss), y2: y(guessLoss), class: 'guess' }));
    plot.append(
      svg(
        'text',
        { x: plotWidth - SIZE.right, y: y(guessLoss) - 5, 'text-anchor': 'end' },
        t('lesson_train_guess', { loss: guessLoss.toFixed(2) }),
      ),
    );
    const ends = [];
    for (const [number, { losses }] of [...runs.entries()].reverse()) {
      const line = (end) =>
        losses
          .slice(0, end)
          .map((loss, index) => `${x(index + 1).toFixed(1)},${y(Math.min(maxLoss, loss)).toFixed(1)}`)
          .join(' ');
      const otherClass = number ? ' other' : '';
      plot.append(svg('polyline', { points: line(losses.length), class: `line ahead${otherClass}` }));
      plot.append(svg('polyline', { points: line(step), class: `line${otherClass}` }));
      const last = losses[Math.min(step, losses.length) - 1];
      if (last === undefined) continue;
      plot.append(
        svg('circle', { cx: x(Math.min(step, losses.length)), cy: y(Math.min(maxLoss, last)), r: 4.5, class: `now${otherClass}` }),
      );
      ends.unshift({
        text: `${names[number] ? `${names[number]} ` : `${t('lesson_train_loss')} `}${fourDecimals(last)}`,
        y: y(Math.min(maxLoss, last)),
        other: otherClass,
      });
    }
    plot.append(svg('line', { x1: x(step), x2: x(step), y1: SIZE.top - 4, y2: SIZE.floor, class: 'moment' }));
    const isRight = step > this.steps * 0.55;
    const attributes = { x: x(step) + (isRight ? -9 : 9), 'text-anchor': isRight ? 'end' : 'start' };
    for (const [index, { text, other }] of ends.entries())
      plot.append(svg('text', { ...attributes, y: LABEL_TOP + index * LABEL_SPACING, class: `said${other}` }, text));
    this.element.replaceChildren(plot);
  }
}
