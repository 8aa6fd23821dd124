// By how much one head looks elsewhere under the changes: both times it writes the words of the original, so that rows agree.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { view } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { MapArea } from '../headview/map-area.js';
import { NO_HIGHLIGHT } from '../headview/highlights.js';
import { colourRamp } from '../parts/legend.js';
import { canvasPlotly } from '../parts/canvas-plotly.js';
import { interventions } from './interventions.js';

export class Difference {
  /** `shown()`: the map that is shown above. */
  constructor(shown) {
    this.shown = shown;
    this.title = make('h3', {});
    this.says = make('p', { class: 'quiet' });
    this.maps = new MapArea(canvasPlotly(), state, { options: { difference: true } });
    this.legend = make('div', { class: 'legend' });
    this.element = make('section', { class: 'difference-map', hidden: true }, this.title, this.says, this.maps.element, this.legend);
    new ResizeObserver(() => this.both && this.maps.hasResized() && this.draw(this.both)).observe(this.element);
  }

  /** `both`: the translation before, and its words under the changes; nothing while there is no change. */
  draw(both) {
    this.both = both;
    const above = this.shown();
    this.element.hidden = !both || !above;
    if (this.element.hidden) return;
    const pair = comparablePair(both, above, state, interventions());
    this.title.textContent = t('whatif_difference');
    this.says.textContent = pair ? differenceText(pair) : t('whatif_difference_other');
    this.maps.element.hidden = this.legend.hidden = !pair;
    if (!pair) return;
    this.maps.show(null, differenceOf(pair), { name: t('whatif_difference') });
    this.maps.highlight(NO_HIGHLIGHT);
    replace(this.legend, colourRamp('difference', `−1 ${t('whatif_less')}`, `${t('whatif_more')} +1`));
  }
}

/**
 * Both maps with the same axes: of tokens, else of whole words, which a minimal pair has as many of; null where neither agrees.
 * Places are compared one by one only where they are the same words, or where one word was swapped for one: `swapped` names those.
 * @param {{ before: any, held: any }} both
 * @param {{ kind: any, layer: any, head: any }} place
 * @param {any} options
 * @param {any[]} made the changes
 */
export function comparablePair({ before, held }, { kind, layer, head }, options, made) {
  const seen = (words) => [before, held].map((each) => view(each, kind, layer, head, { ...options, words }));
  const [one, other] = seen(true);
  const swaps = made.filter(({ action }) => action === 'swap').length;
  const swapped = new Map(); // by what the word was
  for (const axis of ['rows', 'columns']) {
    if (one[axis].length !== other[axis].length || made.some(({ action }) => action === 'erase')) return null;
    const apart = one[axis].filter((item, place) => item.label !== other[axis][place].label);
    if (apart.length > swaps) return null; // words moved, and a place no longer means the same one
    for (const item of apart) swapped.set(item.label, other[axis][one[axis].indexOf(item)].label);
  }
  const alike = ['rows', 'columns'].every((axis) => one[axis].every(({ places }, at) => places.length === other[axis][at].places.length));
  const [first, second] = options.words || !alike ? [one, other] : seen(false);
  return { one: first, other: second, words: !alike && !options.words, swapped: [...swapped] };
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

/** What is compared: of swapped words both are named, since the same place means two words there. */
function differenceText({ words, swapped }) {
  const pairs = swapped.map(([was, is]) => `${was} → ${is}`).join(t('list_comma'));
  return t(words ? 'whatif_difference_words' : 'whatif_difference_says') + (pairs ? ` ${t('whatif_difference_swapped', { pairs })}` : '');
}
