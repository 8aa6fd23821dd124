// Names above columns. Most are turned and read upwards; what is written in squares, as Chinese is, stands upright and reads downwards.

import { tables } from '../core/boot.js';

/** Whether a text has a character of a script in squares, or of its punctuation: the ranges are those of the figures. */
export const isUpright = (text) =>
  [...text].some((letter) => tables.squares.some(([low, high]) => low <= letter.codePointAt(0) && letter.codePointAt(0) <= high));

/** The class of an element with such a name; its look is in layout/page.css. */
export const columnClass = (text) => (isUpright(text) ? 'column-name upright' : 'column-name');
