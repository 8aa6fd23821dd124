// Difference of a head's map under the interventions, teacher-forced on the original translation so that the rows
// match.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { view } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { MapArea } from '../headview/map-area.js';
import { NO_HIGHLIGHT } from '../headview/highlights.js';
import { makeColourRamp } from '../parts/legend.js';
import { canvasPlotly } from '../parts/canvas-plotly.js';
import { interventions } from './interventions.js';

export class Difference {
  /** `getView()` returns the map shown above. */
  constructor(getView) {
    this.getView = getView;
    this.title = make('h3', {});
    this.description = make('p', { class: 'quiet' });
    this.maps = new MapArea(canvasPlotly(), state, { options: { difference: true } });
    this.legend = make('div', { class: 'legend' });
    this.element = make('section', { class: 'difference-map', hidden: true }, this.title, this.description, this.maps.element, this.legend);
    new ResizeObserver(() => this.translations && this.maps.hasResized() && this.draw(this.translations)).observe(this.element);
  }

  /** `translations`: the original translation, and the same tokens under the interventions; null without interventions. */
  draw(translations) {
    this.translations = translations;
    const selectedView = this.getView();
    this.element.hidden = !translations || !selectedView;
    if (this.element.hidden) return;
    const pair = findComparableViews(translations, selectedView, state, interventions());
    this.title.textContent = t('whatif_difference');
    this.description.textContent = pair ? describeDifference(pair) : t('whatif_difference_other');
    this.maps.element.hidden = this.legend.hidden = !pair;
    if (!pair) return;
    this.maps.show(null, subtract(pair), { name: t('whatif_difference') });
    this.maps.highlight(NO_HIGHLIGHT);
    replace(this.legend, makeColourRamp('difference', `−1 ${t('whatif_less')}`, `${t('whatif_more')} +1`));
  }
}

/**
 * Both maps on the same axes, or null if they have none in common. The axes are tokens if both sentences have the same number
 * of tokens per word, else words. Returns {first, second, words, swapped}: the two views, whether words replace the tokens
 * of the page, and [original word, replacement] pairs of one-to-one swaps.
 * @param {{ before: any, held: any }} translations
 * @param {{ kind: any, layer: any, head: any }} head
 * @param {any} options
 * @param {any[]} changes the interventions
 */
export function findComparableViews({ before, held }, { kind, layer, head }, options, changes) {
  const makeViews = (words) => [before, held].map((translation) => view(translation, kind, layer, head, { ...options, words }));
  const [firstView, secondView] = makeViews(true);
  const swapCount = changes.filter(({ action }) => action === 'swap').length;
  const swapped = new Map(); // original word → its replacement
  for (const axis of ['rows', 'columns']) {
    if (firstView[axis].length !== secondView[axis].length || changes.some(({ action }) => action === 'erase')) return null;
    const different = firstView[axis].filter((item, position) => item.label !== secondView[axis][position].label);
    if (different.length > swapCount) return null; // the words have shifted, so positions do not match
    for (const item of different) swapped.set(item.label, secondView[axis][firstView[axis].indexOf(item)].label);
  }
  const sameTokens = ['rows', 'columns'].every((axis) =>
    firstView[axis].every(({ places }, index) => places.length === secondView[axis][index].places.length),
  );
  const [first, second] = options.words || !sameTokens ? [firstView, secondView] : makeViews(false);
  return { first, second, words: !sameTokens && !options.words, swapped: [...swapped] };
}

/** The changed map minus the original. A swapped word is labelled with both words. */
function subtract({ first, second }) {
  const combine = (axis) =>
    first[axis].map((item, index) => {
      const { label } = second[axis][index];
      return label === item.label ? item : { ...item, label: `${item.label}→${label}`, full: `${item.full} → ${label}` };
    });
  const weights = first.weights.map((weight, cell) => {
    const changedWeight = second.weights[cell];
    // A cell that only the interventions mask counts as weight zero; NaN marks masked cells.
    return (changedWeight === changedWeight || weight !== weight ? changedWeight : 0) - weight;
  });
  return { ...first, rows: combine('rows'), columns: combine('columns'), weights, maximum: true };
}

/** Explanation of the difference, with the swapped words. */
function describeDifference({ words, swapped }) {
  const pairs = swapped.map(([original, replacement]) => `${original} → ${replacement}`).join(t('list_comma'));
  return t(words ? 'whatif_difference_words' : 'whatif_difference_says') + (pairs ? ` ${t('whatif_difference_swapped', { pairs })}` : '');
}
