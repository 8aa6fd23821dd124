// The number that is meant, in words and four decimals.

import { make, phrase, replace, touch } from '../core/dom.js';
import { four, signed, strongest } from '../core/view.js';
import { t } from '../core/words.js';
import { any, litWeights, together } from './marks.js';

/** `sums`: also which token a row comes after, and what the row sums to. */
export function mountReadout(element, { sums = false } = {}) {
  const value = make('span', { class: 'value numeric' });
  const words = make('span', { class: 'words' });
  const sum = sums ? make('span', { class: 'quiet numeric' }) : null;
  element.classList.add('readout');
  element.append(...[value, words, sum].filter(Boolean));

  /** `now`: the rows and columns that are meant; `other`: A of a comparison; `missing`: what to say instead. */
  return function read(source, view, now, { other = null, missing = '' } = {}) {
    const said = says(source, view, now, other, missing);
    value.textContent = said.value ?? '';
    replace(words, ...said.words);
    if (sum) sum.textContent = said.sum ?? '';
    if (sum && said.after) words.append(make('span', { class: 'quiet' }, ` ${t('after', { token: said.after.label })}`));
  };
}

function says(source, view, now, other, missing) {
  if (missing) return { words: [missing] };
  const rest = source.rest?.(view);
  if (!any(now) && rest) return { value: four(rest[strongest(rest)]), words: source.restSays(view, strongest(rest)) };
  if (!any(now)) return { words: [t(touch() ? 'readout_tap' : 'readout_idle')] };
  const lit = gaps(litWeights(view, now), other && litWeights(other, now));
  const rows = now.rows ?? [strongest(lit.rows)];
  const columns = now.columns ?? [strongest(lit.columns)];
  const name = (axis, places) => make('b', {}, source.name(view, axis, places));
  const looks = phrase(t('looks_at'), { query: name('rows', rows), key: name('columns', columns) });
  const weight = together(view, rows, columns);
  if (weight !== weight) return { value: '–', words: [...looks, ` · ${t('masked')}`] };
  if (other) {
    const first = together(other, rows, columns);
    return { value: signed(first - weight, 4), words: looks, sum: t('both_values', { a: four(first), b: four(weight) }) };
  }
  const after = now.rows && source.after(view, rows[0]);
  const total = now.rows && !view.maximum && lit.columns.reduce((all, each) => all + (each || 0), 0);
  return { value: four(weight), words: looks, after, sum: total ? t('row_sums_to', { sum: four(total) }) : '' };
}

/** Comparing, the cell where A and B differ most stands for a row or a column. */
function gaps(lit, other) {
  if (!other) return lit;
  return Object.fromEntries(
    Object.entries(lit).map(([axis, weights]) => [axis, weights.map((weight, place) => Math.abs(other[axis][place] - weight))]),
  );
}
