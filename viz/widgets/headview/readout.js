// The highlighted weight with its words, rounded to the decimals that are certain, at most four.

import { make, fillElements, replace, isTouch } from '../core/dom.js';
import { formatCertain, errorBound, fourDecimals, argMax } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { hasAny, highlightWeights, combinedWeights } from './highlights.js';

export function mountReadout(element) {
  const value = make('span', { class: 'value numeric' });
  const words = make('span', { class: 'words' });
  element.classList.add('readout');
  element.append(value, words);

  /** `now`: highlighted rows and columns; `missing`: message that replaces the number. */
  return function read(source, view, now, missing = '') {
    const content = readoutText(source, view, now, missing);
    value.textContent = content.value ?? '';
    replace(words, ...content.words);
  };
}

function readoutText(source, view, now, missing) {
  if (missing) return { words: [missing] };
  const rest = source.rest?.(view);
  if (!hasAny(now) && rest) return { value: fourDecimals(rest[argMax(rest)]), words: source.restText(view, argMax(rest)) };
  if (!hasAny(now)) return { words: [t(isTouch() ? 'readout_tap' : 'readout_idle')] };
  const highlightedWeights = highlightWeights(view, now);
  const rows = now.rows ?? [argMax(highlightedWeights.rows)];
  const columns = now.columns ?? [argMax(highlightedWeights.columns)];
  const name = (axis, places) => make('b', {}, source.name(view, axis, places));
  const singleAxis = now.rows ? (now.columns ? null : 'rows') : 'columns';
  if (singleAxis && source.isMasked?.(view, singleAxis, now[singleAxis]))
    return { value: '–', words: [name(singleAxis, now[singleAxis]), ` · ${t('masked')}`] };
  const sentence =
    source.attentionSentence?.(view, rows, columns) ??
    fillElements(t('looks_at'), { query: name('rows', rows), key: name('columns', columns) });
  const weight = combinedWeights(view, rows, columns);
  return weight === weight
    ? { value: formatCertain(weight, errorBound(view, weight, rows, columns)), words: sentence }
    : { value: '–', words: [...sentence, ` · ${t('masked')}`] };
}
