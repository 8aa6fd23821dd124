// The highlighted weight with its words, rounded to the decimals that are certain, at most four.

import { make, fillElements, replace, isTouch } from '../core/dom.js';
import { formatCertain, computeErrorBound, fourDecimals, argMax } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { hasHighlight, getHighlightWeights, combineWeights } from './highlights.js';

export function mountReadout(element) {
  const value = make('span', { class: 'value numeric' });
  const words = make('span', { class: 'words' });
  element.classList.add('readout');
  element.append(value, words);

  /** `highlight`: highlighted rows and columns; `missing`: message that replaces the number. */
  return function read(source, view, highlight, missing = '') {
    const content = formatReadout(source, view, highlight, missing);
    value.textContent = content.value ?? '';
    replace(words, ...content.words);
  };
}

function formatReadout(source, view, highlight, missing) {
  if (missing) return { words: [missing] };
  const defaults = source.defaultWeights?.(view);
  if (!hasHighlight(highlight) && defaults) {
    const strongest = argMax(defaults);
    return { value: fourDecimals(defaults[strongest]), words: source.defaultText(view, strongest) };
  }
  if (!hasHighlight(highlight)) return { words: [t(isTouch() ? 'readout_tap' : 'readout_idle')] };
  const highlightedWeights = getHighlightWeights(view, highlight);
  const rows = highlight.rows ?? [argMax(highlightedWeights.rows)];
  const columns = highlight.columns ?? [argMax(highlightedWeights.columns)];
  const name = (axis, indices) => make('b', {}, source.name(view, axis, indices));
  const singleAxis = highlight.rows ? (highlight.columns ? null : 'rows') : 'columns';
  if (singleAxis && source.isMasked?.(view, singleAxis, highlight[singleAxis]))
    return { value: '–', words: [name(singleAxis, highlight[singleAxis]), ` · ${t('masked')}`] };
  const sentence =
    source.attentionSentence?.(view, rows, columns) ??
    fillElements(t('looks_at'), { query: name('rows', rows), key: name('columns', columns) });
  const weight = combineWeights(view, rows, columns);
  return weight === weight
    ? { value: formatCertain(weight, computeErrorBound(view, weight, rows, columns)), words: sentence }
    : { value: '–', words: [...sentence, ` · ${t('masked')}`] };
}
