// Two round buttons, to leaf through what there is: one back, one on.

import { icon, make } from '../core/dom.js';

const [BACK, ON] = ['M11 4L6 9l5 5', 'M7 4l5 5-5 5'];

/** Both, without names yet; `turn(step)` hears −1 or 1. */
export function turnButtons(turn) {
  const round = (step, path) =>
    make('button', { type: 'button', class: 'round', onclick: () => turn(step) }, icon(18, [path], { width: 1.6 }));
  return [round(-1, BACK), round(1, ON)];
}
