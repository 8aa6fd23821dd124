// The number that is meant, in words and up to four decimals: those that are certain.

import { make, phrase, replace, touch } from '../core/dom.js';
import { certain, doubtOf, four, strongest } from '../core/view.js';
import { t } from '../core/words.js';
import { any, litWeights, together } from './marks.js';

export function mountReadout(element) {
  const value = make('span', { class: 'value numeric' });
  const words = make('span', { class: 'words' });
  element.classList.add('readout');
  element.append(value, words);

  /** `now`: the rows and columns that are meant; `missing`: what to say instead. */
  return function read(source, view, now, missing = '') {
    const said = says(source, view, now, missing);
    value.textContent = said.value ?? '';
    replace(words, ...said.words);
  };
}

function says(source, view, now, missing) {
  if (missing) return { words: [missing] };
  const rest = source.rest?.(view);
  if (!any(now) && rest) return { value: four(rest[strongest(rest)]), words: source.restSays(view, strongest(rest)) };
  if (!any(now)) return { words: [t(touch() ? 'readout_tap' : 'readout_idle')] };
  const lit = litWeights(view, now);
  const rows = now.rows ?? [strongest(lit.rows)];
  const columns = now.columns ?? [strongest(lit.columns)];
  const name = (axis, places) => make('b', {}, source.name(view, axis, places));
  const alone = now.rows ? (now.columns ? null : 'rows') : 'columns';
  if (alone && source.hides?.(view, alone, now[alone])) return { value: '–', words: [name(alone, now[alone]), ` · ${t('masked')}`] };
  const looks = source.looks?.(view, rows, columns) ?? phrase(t('looks_at'), { query: name('rows', rows), key: name('columns', columns) });
  const weight = together(view, rows, columns);
  return weight === weight
    ? { value: certain(weight, doubtOf(view, weight, rows, columns)), words: looks }
    : { value: '–', words: [...looks, ` · ${t('masked')}`] };
}
