// Words in a row, each with a bar of its contribution: positive above the word, negative below it.

import { make } from '../core/dom.js';
import { cssColour, scaleColour } from '../core/theme.js';
import { signed } from '../core/map-view.js';

const MAX_BAR_HEIGHT = 56; // pixels
const MIN_BOLD_FRACTION = 0.25; // of the largest value; words with smaller values are not bold

/**
 * A cell per word. `data-keys` of its `.token` lists the positions of its tokens.
 * @param {{ label: string, places: number[], value: number, unknown?: boolean }[]} words
 * @param {number} maxValue largest absolute value
 */
export function wordBars(words, maxValue) {
  return words.map(({ label, places, value, unknown }) => {
    const fraction = value / maxValue;
    const bar = make('i', {
      style: `height:${(MAX_BAR_HEIGHT * Math.abs(fraction)).toFixed(1)}px;background:${cssColour(scaleColour('difference', 0.5 + fraction / 2))}`,
    });
    const number = make('small', { class: 'numeric' }, signed(value, 2));
    const keys = places.map((position) => `r${position}`).join(' ');
    const word = make('span', { class: `token${unknown ? ' unknown' : ''}`, data: { keys } }, label);
    const classes = `cell${Math.abs(fraction) >= MIN_BOLD_FRACTION ? ' strong' : ''}`;
    return make(
      'span',
      { class: classes },
      make('span', { class: 'up', 'aria-hidden': 'true' }, ...(fraction > 0 ? [number, bar] : [])),
      word,
      make('span', { class: 'down', 'aria-hidden': 'true' }, ...(fraction < 0 ? [bar, number] : [])),
    );
  });
}
