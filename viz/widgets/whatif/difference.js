// By how much one head looks elsewhere under the changes: both times it writes the words of the original, so that rows agree.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { view } from '../core/view.js';
import { t } from '../core/words.js';
import { Maps } from '../headview/maps.js';
import { NO_MARKS } from '../headview/marks.js';
import { ramp } from '../parts/legend.js';
import { quickPlotly } from '../parts/quickplotly.js';

export class Difference {
  /** `shown()`: the map that is shown above. */
  constructor(shown) {
    this.shown = shown;
    this.title = make('h3', {});
    this.says = make('p', { class: 'quiet' });
    this.maps = new Maps(quickPlotly(), state, { options: { difference: true } });
    this.legend = make('div', { class: 'legend' });
    this.element = make('section', { class: 'difference-map', hidden: true }, this.title, this.says, this.maps.element, this.legend);
    new ResizeObserver(() => this.both && this.maps.resized() && this.draw(this.both)).observe(this.element);
  }

  /** `both`: the translation before, and its words under the changes; nothing while there is no change. */
  draw(both) {
    this.both = both;
    const above = this.shown();
    this.element.hidden = !both || !above;
    if (this.element.hidden) return;
    const pair = pairOf(both, above);
    this.title.textContent = t('whatif_difference');
    this.says.textContent = t(pair ? (pair.words ? 'whatif_difference_words' : 'whatif_difference_says') : 'whatif_difference_other');
    this.maps.element.hidden = this.legend.hidden = !pair;
    if (!pair) return;
    this.maps.show(null, differenceOf(pair), { name: t('whatif_difference') });
    this.maps.light(NO_MARKS);
    replace(this.legend, ramp('difference', `−1 ${t('whatif_less')}`, `${t('whatif_more')} +1`));
  }
}

/** Both maps with the same axes: of tokens, else of whole words, which a minimal pair has as many of; null where neither agrees. */
function pairOf({ before, held }, { kind, layer, head }) {
  for (const words of state.words ? [true] : [false, true]) {
    const [one, other] = [before, held].map((each) => view(each, kind, layer, head, { ...state, words }));
    const fits = one.columns.length === other.columns.length && one.rows.length === other.rows.length;
    if (fits) return { one, other, words: words && !state.words };
  }
  return null;
}

/** What one map has less than the other. A swapped word is called by both its names. */
function differenceOf({ one, other }) {
  const both = (axis) =>
    one[axis].map((item, place) => {
      const { label } = other[axis][place];
      return label === item.label ? item : { ...item, label: `${item.label}→${label}`, full: `${item.full} → ${label}` };
    });
  const weights = one.weights.map((weight, cell) => {
    const now = other.weights[cell];
    // A masked word has no weight any more: what it had is gone.
    return (now === now || weight !== weight ? now : 0) - weight;
  });
  return { ...one, rows: both('rows'), columns: both('columns'), weights, maximum: true };
}
