// The loss of one run or two, step by step, with the moment that is looked at; the curve can be dragged.

import { make, svg } from '../core/dom.js';
import { pageZoom } from '../core/page-zoom.js';
import { fourDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';

const SIZE = { height: 214, left: 34, right: 12, top: 14, floor: 184 };
const SAID = 92; // position of the current losses: the curve is above it before and below it after
const NAMED = 16; // pixels from one name to the next

/** @typedef {import('./training-run.js').Run} Run */

export class LossCurve {
  /** `pick(step)`: hover of a step. */
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

  /** @param {{ runs: Run[], names: string[], step: number }} about */
  draw({ runs, names, step }) {
    const wide = Math.max(240, Math.floor(this.element.clientWidth) || 400);
    const first = runs[0].beginning;
    this.steps = first.snapshot_steps.at(-1);
    const guess = Math.log(first.vocabulary);
    const most = Math.ceil(Math.max(guess, ...runs.flatMap(({ losses }) => losses)) + 0.2);
    const x = (at) => SIZE.left + (at / this.steps) * (wide - SIZE.left - SIZE.right);
    const y = (loss) => SIZE.floor - (loss / most) * (SIZE.floor - SIZE.top);
    const picture = svg('svg', {
      viewBox: `0 0 ${wide} ${SIZE.height}`,
      class: 'lesson-plot',
      role: 'img',
      'aria-label': t('lesson_train_curve'),
    });
    for (let loss = 0; loss <= most; loss += 2) {
      picture.append(svg('line', { x1: SIZE.left, x2: wide - SIZE.right, y1: y(loss) + 0.5, y2: y(loss) + 0.5, class: 'rule' }));
      picture.append(svg('text', { x: SIZE.left - 8, y: y(loss) + 4, 'text-anchor': 'end' }, String(loss)));
    }
    for (let part = 0; part <= 4; part++) {
      const at = Math.round((this.steps * part) / 4);
      picture.append(svg('text', { x: x(at), y: SIZE.height - 8, 'text-anchor': 'middle' }, String(at)));
    }
    picture.append(svg('line', { x1: SIZE.left, x2: wide - SIZE.right, y1: y(guess), y2: y(guess), class: 'guess' }));
    picture.append(
      svg('text', { x: wide - SIZE.right, y: y(guess) - 5, 'text-anchor': 'end' }, t('lesson_train_guess', { loss: guess.toFixed(2) })),
    );
    const ends = [];
    for (const [number, { losses }] of [...runs.entries()].reverse()) {
      const line = (upto) =>
        losses
          .slice(0, upto)
          .map((loss, place) => `${x(place + 1).toFixed(1)},${y(Math.min(most, loss)).toFixed(1)}`)
          .join(' ');
      const other = number ? ' other' : '';
      picture.append(svg('polyline', { points: line(losses.length), class: `line ahead${other}` }));
      picture.append(svg('polyline', { points: line(step), class: `line${other}` }));
      const last = losses[Math.min(step, losses.length) - 1];
      if (last === undefined) continue;
      picture.append(svg('circle', { cx: x(Math.min(step, losses.length)), cy: y(Math.min(most, last)), r: 4.5, class: `now${other}` }));
      ends.unshift({
        text: `${names[number] ? `${names[number]} ` : `${t('lesson_train_loss')} `}${fourDecimals(last)}`,
        y: y(Math.min(most, last)),
        other,
      });
    }
    picture.append(svg('line', { x1: x(step), x2: x(step), y1: SIZE.top - 4, y2: SIZE.floor, class: 'moment' }));
    const right = step > this.steps * 0.55;
    const about = { x: x(step) + (right ? -9 : 9), 'text-anchor': right ? 'end' : 'start' };
    for (const [place, { text, other }] of ends.entries())
      picture.append(svg('text', { ...about, y: SAID + place * NAMED, class: `said${other}` }, text));
    this.element.replaceChildren(picture);
  }
}
