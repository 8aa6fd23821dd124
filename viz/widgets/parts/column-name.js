// Labels above columns: rotated, except for scripts with square characters such as Chinese, which stay upright.

import { tables } from '../core/boot.js';

/** Whether a text has square characters or their punctuation. The figures use the same Unicode ranges. */
export const isUpright = (text) =>
  [...text].some((letter) => tables.squares.some(([low, high]) => low <= letter.codePointAt(0) && letter.codePointAt(0) <= high));

/** CSS class of a column label, styled in layout/page.css. */
export const getColumnClass = (text) => (isUpright(text) ? 'column-name upright' : 'column-name');
