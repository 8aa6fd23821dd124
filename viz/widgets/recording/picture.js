// The input image of a vision model. The weights of the highlighted row or column colour a translucent grid over its patches.

import { make, fillElements, replace, isTouch } from '../core/dom.js';
import { scaleColour } from '../core/theme.js';
import { computeErrorBound, formatCertain, twoDecimals } from '../core/map-view.js';
import { axisSide } from '../core/translation.js';
import { t } from '../core/i18n.js';
import { mergeHighlight, getHighlight, getHighlightWeights, maxWeight } from '../headview/highlights.js';
import { findCell, mountPointer } from '../headview/pointer.js';

const OVERLAY_OPACITY = 0.6; // as in `viz/export/head_drawings.py`
const MIN_LARGEST = 1e-4; // smaller weights are shown as 0.0000, so their colours are not scaled up

/**
 * Mounts the image as the first part of a head view. Returns a function that shades its patches.
 * @param {ReturnType<typeof import('../headview/head-view.js').mount>} headView
 */
export function mountPicture(headView, { picture, source: tokens }) {
  const patches = Array.from({ length: picture.rows * picture.columns }, () => make('span', { class: 'token' }));
  for (const [token, patch] of picture.places.entries()) if (patch !== null) patches[patch].dataset.keys = tokens[token].key;
  const image = make('img', { src: picture.image });
  const grid = make('div', { class: 'patches', 'aria-hidden': 'true', style: `--columns:${picture.columns}` }, ...patches);
  const caption = make('p', { class: 'quiet' });
  const element = make('div', { class: 'picture' }, make('div', { class: 'picture-frame' }, image, grid), caption);
  headView.element.prepend(element);
  const cellAt = (event) => headView.view && findCell(headView.source, headView.view, event.target);
  mountPointer(grid, cellAt, headView.callbacks);

  /** Shades the patches, and updates the caption. Masked patches stay clear. */
  return function shade() {
    const { view, store } = headView;
    const highlight = mergeHighlight(getHighlight(store.state));
    const weights = getPatchWeights(view, highlight, picture);
    const largest = maxWeight([...weights.values()]);
    const highlightedPatches = getHighlightedPatches(view, highlight, picture);
    for (const [index, patch] of patches.entries()) {
      const weight = weights.get(index);
      const level = weight === undefined || weight !== weight ? null : weight / Math.max(largest, MIN_LARGEST);
      patch.style.backgroundColor = level === null ? '' : formatOverlayColour(scaleColour(store.state.palette, level));
      patch.classList.toggle('chosen', highlightedPatches.has(index));
    }
    image.alt = t('picture_alt');
    replace(caption, ...makeCaption(headView, highlight, weights, largest, picture));
  };
}

const formatOverlayColour = ([red, green, blue]) => `rgb(${red} ${green} ${blue} / ${OVERLAY_OPACITY})`;

/** Map from patch index to its weight in the highlighted row, else column; empty if the weights are not on source tokens. */
function getPatchWeights(view, highlight, picture) {
  const [axis, weights] = Object.entries(getHighlightWeights(view, highlight))[0] ?? [];
  const patches = new Map();
  if (!axis || axisSide(view.kind, axis) !== 'source') return patches;
  for (const [index, { places }] of view[axis].entries()) {
    for (const token of places) if (picture.places[token] !== null) patches.set(picture.places[token], weights[index]);
  }
  return patches;
}

/** Indices of the highlighted patches, on each axis that has source tokens. */
function getHighlightedPatches(view, highlight, picture) {
  const axes = ['rows', 'columns'].filter((axis) => axisSide(view.kind, axis) === 'source');
  const tokens = axes.flatMap((axis) => (highlight[axis] ?? []).flatMap((index) => view[axis][index].places));
  return new Set(tokens.map((token) => picture.places[token]));
}

function makeCaption({ source, view }, highlight, weights, largest, picture) {
  if (!weights.size) return [t(isTouch() ? 'picture_tap' : 'picture_idle')];
  const axis = highlight.rows ? 'rows' : 'columns';
  const name = make('b', {}, source.name(view, axis, highlight[axis]));
  const values = { token: name, weight: formatCertain(largest, computeErrorBound(view, largest, [0], [0])) };
  if (axis === 'columns') return fillElements(t('picture_column'), values);
  const otherWeight = sumTextWeights(view, highlight, picture);
  return fillElements(t(otherWeight === null ? 'picture_row' : 'picture_row_rest'), { ...values, rest: twoDecimals(otherWeight ?? 0) });
}

/** Weight of a row on tokens without a patch, summed; null if all tokens have patches. */
function sumTextWeights(view, highlight, picture) {
  const { columns } = getHighlightWeights(view, highlight);
  const others = view.columns.flatMap(({ places }, index) => (picture.places[places[0]] === null ? [columns[index] || 0] : []));
  return others.length ? others.reduce((sum, weight) => sum + weight, 0) : null;
}
