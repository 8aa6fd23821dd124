// Shades tokens and labels by the weights of the highlighted row or column.

import { css, inkOn, shade } from '../core/theme.js';
import { level } from '../core/view.js';
import { litWeights, most } from './marks.js';

const ABOVE = 52; // pixels that a strip shows above the token that it scrolls to

/** Words below 0.02 are not shaded, because otherwise every word becomes a box. */
export function paint(element, strength, palette) {
  const shows = strength >= 0.02; // not for null, undefined, NaN
  const rgb = shows ? shade(palette, strength) : null;
  element.style.backgroundColor = shows ? css(rgb) : '';
  element.style.color = shows ? inkOn(rgb) : '';
}

/** Shading strengths of the tokens: highlighted rows or columns, else the default. */
export function strengths(source, view, now, scale) {
  const rest = source.rest?.(view);
  const lit = now.rows || now.columns || !rest ? litWeights(view, now) : { columns: rest };
  const [axis, weights] = Object.entries(lit)[0] ?? [];
  const found = new Map();
  if (!axis) return () => undefined;
  for (const [place, item] of view[axis].entries()) for (const key of source.keys(view.kind, axis, item)) found.set(key, place);
  const greatest = most(weights);
  // The pieces of one character are one element: of columns they add up, of rows they are averaged.
  return (keys) => {
    const places = [...new Set(keys.map((key) => found.get(key)).filter((place) => place !== undefined))];
    if (!places.length) return undefined;
    const sum = places.reduce((all, place) => all + weights[place], 0);
    return level(axis === 'columns' ? sum : sum / places.length, greatest, source.relative ? 'row' : scale);
  };
}

/** Shade the tokens of the sentences, and frame those that are meant. */
export function lightStrips(strips, source, view, now, { scale, palette }) {
  const strengthOf = strengths(source, view, now, scale);
  const axis = now.rows ? 'rows' : 'columns';
  const chosen = new Set((now[axis] ?? []).flatMap((place) => source.keys(view.kind, axis, view[axis][place])));
  for (const token of strips.elements()) {
    const keys = token.dataset.keys.split(' ');
    paint(token, strengthOf(keys), palette);
    token.classList.toggle(
      'chosen',
      keys.some((key) => chosen.has(key)),
    );
  }
  joinChosen(strips.elements());
  for (const strip of strips.strips) reveal(strip);
}

/** Several chosen neighbours get one frame. */
function joinChosen(tokens) {
  const chosen = (node) => Boolean(node?.classList?.contains('chosen'));
  for (const token of tokens) {
    token.classList.toggle('goes-on', chosen(token) && chosen(token.nextSibling));
    token.classList.toggle('went-on', chosen(token) && chosen(token.previousSibling));
  }
}

/** A long strip scrolls to its highlighted words, unless it is hovered. */
function reveal(strip) {
  if (!strip.classList.contains('long') || strip.matches(':hover')) return;
  const chosen = strip.querySelector('.chosen');
  const token = chosen ?? [...strip.children].find((each) => each.style.backgroundColor);
  if (token) strip.scrollTop = token.offsetTop - ABOVE;
}
