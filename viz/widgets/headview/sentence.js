// Describes the highlight in a sentence: "While writing is, this head puts 0.98 of its attention on schläft."

import { make, phrase, replace, touch } from '../core/dom.js';
import { LETTER, certain, doubtOf, strongest, two } from '../core/view.js';
import { t } from '../core/words.js';
import { any, litWeights, together } from './marks.js';

/** Returns what says it. */
export function mountSentence(element) {
  element.classList.add('sentence');

  /** `now`: the rows and columns that are meant; `other`: A of a comparison. */
  return function say(source, view, now, other = null) {
    const idle = () => [t(touch() ? 'readout_tap' : 'readout_idle')];
    const lit = () => (other ? differs(source, other, view, now) : looks(source, view, now));
    replace(element, ...(any(now) ? lit() : idle()));
    element.title = element.textContent; // maximum characters per line
  };
}

const named = (source, view, axis, place) => make('b', {}, source.name(view, axis, [place]));

function looks(source, view, now) {
  const lit = litWeights(view, now);
  const row = now.rows?.[0] ?? strongest(lit.rows);
  const column = now.columns?.[0] ?? strongest(lit.columns);
  const weight = together(view, [row], [column]);
  const names = { query: named(source, view, 'rows', row), key: named(source, view, 'columns', column) };
  if (weight !== weight) return phrase(t('says_masked'), names);
  const heads = view.maximum ? 'max' : view.layer === 'mean' || view.head === 'mean' ? 'mean' : 'one';
  const said = t(source.reading(view, row), { puts: t(`says_puts_${heads}`, { share: two(weight) }) });
  return phrase(said, row ? { ...names, after: named(source, view, 'rows', row - 1) } : names);
}

/** In a comparison, the cell with the largest difference represents a row or a column. */
function differs(source, other, view, now) {
  const [first, second] = [litWeights(other, now), litWeights(view, now)];
  const gap = (axis) => strongest(second[axis].map((weight, place) => Math.abs(first[axis][place] - weight)));
  const [row, column] = [now.rows?.[0] ?? gap('rows'), now.columns?.[0] ?? gap('columns')];
  const [a, b] = [other, view].map((each) => together(each, [row], [column]));
  const names = { query: named(source, view, 'rows', row), key: named(source, view, 'columns', column) };
  if (b !== b) return phrase(t('says_masked'), names);
  const doubts = [doubtOf(other, a, [row], [column]), doubtOf(view, b, [row], [column])];
  const apart = certain(Math.abs(a - b), Math.max(LETTER, doubts[0]) + Math.max(LETTER, doubts[1]));
  const difference = `${a < b ? '−' : '+'}${apart}`;
  return phrase(t('says_difference', { difference, a: certain(a, doubts[0]), b: certain(b, doubts[1]) }), names);
}
