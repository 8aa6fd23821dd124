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
    const { kind, layer, head } = above;
    const [before, held] = [both.before, both.held].map((each) => view(each, kind, layer, head, state));
    const fits = before.weights.length === held.weights.length && before.columns.length === held.columns.length;
    this.title.textContent = t('whatif_difference');
    this.says.textContent = t(fits ? 'whatif_difference_says' : 'whatif_difference_other');
    this.maps.element.hidden = this.legend.hidden = !fits;
    if (!fits) return;
    // A masked word has no weight any more: what it had is gone.
    const gone = held.weights.map((weight, cell) => (weight === weight || before.weights[cell] !== before.weights[cell] ? weight : 0));
    const weights = gone.map((weight, cell) => weight - before.weights[cell]);
    this.maps.show(null, { ...before, weights, maximum: true }, { name: t('whatif_difference') });
    this.maps.light(NO_MARKS);
    replace(this.legend, ramp('difference', `−1 ${t('whatif_less')}`, `${t('whatif_more')} +1`));
  }
}
