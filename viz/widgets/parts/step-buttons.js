// Two round buttons for the previous and the next item.

import { icon, make } from '../core/dom.js';

const [PREVIOUS_ICON, NEXT_ICON] = ['M11 4L6 9l5 5', 'M7 4l5 5-5 5'];

/** Both buttons, without accessible names; `turn(step)` is called with −1 or 1. */
export function stepButtons(turn) {
  const round = (step, path) =>
    make('button', { type: 'button', class: 'round', onclick: () => turn(step) }, icon(18, [path], { width: 1.6 }));
  return [round(-1, PREVIOUS_ICON), round(1, NEXT_ICON)];
}
