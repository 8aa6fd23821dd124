// Erasure curves: probability of the output word while source words are hidden, in random order or in a method's order.

import { make, replace, svg } from '../core/dom.js';
import { twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [560, 200, 40, 28]; // units of the view box: size, left and bottom margin

export class ErasureCurves {
  constructor() {
    this.picture = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img' });
    this.legend = make('p', { class: 'quiet' });
    this.element = make('div', { class: 'curves', hidden: true }, this.picture, this.legend);
  }

  /** `randomCurve`: mean curve of random orders; `curves`: by method; `highlighted`: the highlighted method, or null. */
  draw(randomCurve, curves, highlighted) {
    this.element.hidden = !randomCurve;
    if (!randomCurve) return;
    const yMax = Math.max(...randomCurve, ...Object.values(curves).flat(), 1e-9);
    const x = (hiddenCount, pointCount) => LEFT + ((WIDTH - LEFT - 8) * hiddenCount) / Math.max(1, pointCount - 1);
    const y = (value) => 8 + (HEIGHT - BOTTOM - 8) * (1 - value / yMax);
    const path = (curve) =>
      curve.map((value, index) => `${index ? 'L' : 'M'}${x(index, curve.length).toFixed(1)} ${y(value).toFixed(1)}`).join('');
    const line = (curve, className) => svg('path', { d: path(curve), class: className });
    const text = (left, baseline, label, anchor) => {
      const element = svg('text', { x: left, y: baseline, 'text-anchor': anchor });
      element.textContent = label;
      return element;
    };
    const otherMethods = Object.keys(curves).filter((method) => method !== highlighted);
    replace(
      this.picture,
      svg('path', { d: `M${LEFT} 8V${HEIGHT - BOTTOM}H${WIDTH - 8}`, class: 'axis' }),
      text(LEFT - 6, 14, twoDecimals(yMax), 'end'),
      text(LEFT - 6, HEIGHT - BOTTOM, '0', 'end'),
      text(LEFT, HEIGHT - 8, '0', 'middle'),
      text(WIDTH - 8, HEIGHT - 8, t('word_all_hidden'), 'end'),
      ...otherMethods.map((method) => line(curves[method], 'other')),
      line(randomCurve, 'chance'),
      ...(curves[highlighted] ? [line(curves[highlighted], 'light')] : []),
    );
    this.picture.setAttribute('aria-label', t('word_curves'));
    this.legend.textContent = curves[highlighted] ? t('word_curve_light', { method: t(`method_${highlighted}`) }) : t('word_curve_none');
  }
}

/** Mean difference between the random curve and a method's curve: the area between them by the trapezoidal rule. */
export function areaBetween(curve, randomCurve) {
  const gaps = curve.map((value, index) => randomCurve[index] - value);
  const trapezoids = gaps.slice(1).map((gap, index) => (gap + gaps[index]) / 2);
  return trapezoids.reduce((sum, trapezoid) => sum + trapezoid, 0) / Math.max(1, trapezoids.length);
}
