// Shades tokens and labels by the weights of the highlighted row or column.

import { cssColour, textColourOn, scaleColour } from '../core/theme.js';
import { colourLevel } from '../core/map-view.js';
import { getHighlightWeights, maxWeight } from './highlights.js';

const SCROLL_MARGIN = 52; // pixels kept above a token that is scrolled into view

/** Shades an element, unless its strength is below 0.02: shading every word would clutter the sentence. */
export function paint(element, strength, palette) {
  const isVisible = strength >= 0.02; // not for null, undefined, NaN
  const rgb = isVisible ? scaleColour(palette, strength) : null;
  element.style.backgroundColor = isVisible ? cssColour(rgb) : '';
  element.style.color = isVisible ? textColourOn(rgb) : '';
}

/** Function from token keys to shading strength, by the highlighted rows or columns, else by the default weights. */
export function getTokenStrengths(source, view, highlight, scale) {
  const defaults = source.defaultWeights?.(view);
  const highlightedWeights =
    highlight.rows || highlight.columns || !defaults ? getHighlightWeights(view, highlight) : { columns: defaults };
  const [axis, weights] = Object.entries(highlightedWeights)[0] ?? [];
  const indexByKey = new Map();
  if (!axis) return () => undefined;
  for (const [index, item] of view[axis].entries()) for (const key of source.keys(view.kind, axis, item)) indexByKey.set(key, index);
  const maximum = maxWeight(weights);
  // If an element has several byte pieces, sum their columns or average their rows.
  return (keys) => {
    const indices = [...new Set(keys.map((key) => indexByKey.get(key)).filter((index) => index !== undefined))];
    if (!indices.length) return undefined;
    const sum = indices.reduce((all, index) => all + weights[index], 0);
    return colourLevel(axis === 'columns' ? sum : sum / indices.length, maximum, source.relative ? 'row' : scale);
  };
}

/** Shades the tokens of the sentences and frames the highlighted ones. */
export function shadeStrips(strips, source, view, highlight, { scale, palette }) {
  const strengths = getTokenStrengths(source, view, highlight, scale);
  const axis = highlight.rows ? 'rows' : 'columns';
  const highlightedKeys = (highlight[axis] ?? []).flatMap((index) => source.keys(view.kind, axis, view[axis][index]));
  const selectedKeys = new Set([...highlightedKeys, ...(source.chosenKeys?.() ?? [])]);
  for (const token of strips.elements()) {
    const keys = token.dataset.keys.split(' ');
    paint(token, strengths(keys), palette);
    token.classList.toggle(
      'chosen',
      keys.some((key) => selectedKeys.has(key)),
    );
  }
  mergeFrames(strips.elements());
  for (const strip of strips.strips) scrollIntoView(strip);
}

/** Merges the frames of neighbouring highlighted tokens. */
function mergeFrames(tokens) {
  const isChosen = (node) => Boolean(node?.classList?.contains('chosen'));
  for (const token of tokens) {
    token.classList.toggle('goes-on', isChosen(token) && isChosen(token.nextSibling));
    token.classList.toggle('went-on', isChosen(token) && isChosen(token.previousSibling));
  }
}

/** Scrolls a long strip to its highlighted words, unless it is hovered. */
function scrollIntoView(strip) {
  if (!strip.classList.contains('long') || strip.matches(':hover')) return;
  const selectedToken = strip.querySelector('.chosen');
  const token = selectedToken ?? [...strip.children].find((child) => child.style.backgroundColor);
  if (token) strip.scrollTop = token.offsetTop - SCROLL_MARGIN;
}
