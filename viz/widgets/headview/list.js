// The strongest words of the lit row or column, and of nothing lit the strongest cells.

import { make, replace } from '../core/dom.js';
import { four } from '../core/view.js';
import { litWeights } from './marks.js';

const LISTED = 6;

export function mountList(element) {
  element.classList.add('list');

  /** `now`: the rows and columns that are meant; `comparing`: the head listed is the second of two. */
  return function list(source, view, now, comparing = false) {
    const { title, entries } = entriesOf(source, view, now);
    const best = entries.filter(([, weight]) => weight === weight).sort((one, two) => two[1] - one[1]);
    const whole = source.relative ? Math.max(1e-9, best[0]?.[1] ?? 0) : 1;
    const badge = comparing ? make('b', { class: 'second' }, 'B ') : null;
    const rows = best.slice(0, LISTED).map(([name, weight]) => {
      const bar = make('i', { style: `width:${(100 * Math.min(1, weight / whole)).toFixed(2)}%` });
      const label = make('span', { title: name.textContent }, name);
      return make('div', {}, label, make('span', {}, bar), make('span', { class: 'numeric' }, four(weight)));
    });
    replace(element, make('h3', {}, badge, ...title), ...rows);
  };
}

function entriesOf(source, view, now) {
  const rest = source.rest?.(view);
  const lit = litWeights(view, now);
  const weights = lit.columns ?? lit.rows ?? rest;
  if (!weights) {
    const wide = view.columns.length;
    const name = (cell) => make('bdi', {}, `${view.rows[Math.floor(cell / wide)].label} → ${view.columns[cell % wide].label}`);
    return { title: source.listTitle(view, now), entries: top(view.weights, LISTED).map((cell) => [name(cell), view.weights[cell]]) };
  }
  const axis = lit.rows ? 'rows' : 'columns';
  const entries = top(weights, LISTED).map((place) => [source.name(view, axis, [place]), weights[place]]);
  return { title: source.listTitle(view, now), entries };
}

/** The places of the greatest numbers, without sorting all of them. */
export function top(values, count, size = (value) => value) {
  const best = [];
  for (let place = 0; place < values.length; place++) {
    const here = size(values[place]);
    if (here !== here || (best.length === count && here <= size(values[best.at(-1)]))) continue;
    let at = best.length;
    while (at > 0 && size(values[best[at - 1]]) < here) at--;
    best.splice(at, 0, place);
    if (best.length > count) best.pop();
  }
  return best;
}
