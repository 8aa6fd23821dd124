// Describes the highlight in a sentence: "While writing is, head 6 of layer 3 puts 0.984 of its attention on schläft."

import { make, fillElements, replace, isTouch } from '../core/dom.js';
import { WEIGHT_ERROR, formatCertain, computeErrorBound, argMax, signed, threeDecimals } from '../core/map-view.js';
import { sentenceGap, t } from '../core/i18n.js';
import { hasHighlight, getHighlightWeights, combineWeights, sumEffects } from './highlights.js';

const LETTER_PX = 10.7; // mean width of a headline letter at the default size
const LONG_LINE_FACTOR = 1.25; // lettersPerLine per line with the class `long`, relative to the default size
const MIN_EFFECT = 0.005; // nats; smaller effects are reported as none

/** Width in Latin lettersPerLine; East Asian characters count as two. */
const displayWidth = (text) => text.length + (text.match(/[\u2e80-\uffdc]/g)?.length ?? 0);

/** Returns the function that updates the sentence. */
export function mountDescription(element) {
  element.classList.add('sentence');

  let lettersPerLine = Number.POSITIVE_INFINITY;
  new ResizeObserver(() => {
    lettersPerLine = element.clientWidth / LETTER_PX;
    fit(displayWidth(element.textContent));
  }).observe(element);
  const fit = (length) => {
    element.classList.toggle('long', length > lettersPerLine && length <= LONG_LINE_FACTOR * lettersPerLine);
    element.classList.toggle('longest', length > LONG_LINE_FACTOR * lettersPerLine);
  };

  /** `highlight`: highlighted rows and columns; `otherView`: view A of a comparison. */
  return function describe(source, view, highlight, otherView = null) {
    const idle = () => [t(isTouch() ? 'readout_tap' : 'readout_idle')];
    const highlightText = () =>
      otherView ? describeDifference(source, otherView, view, highlight) : describeAttention(source, view, highlight);
    replace(element, ...(hasHighlight(highlight) ? highlightText() : idle()));
    fit(displayWidth(element.textContent));
    element.title = element.textContent; // the sentence may be truncated
  };
}

const tokenName = (source, view, axis, index) => make('b', {}, source.name(view, axis, [index]));

function describeAttention(source, view, highlight) {
  const weights = getHighlightWeights(view, highlight);
  const row = highlight.rows?.[0] ?? argMax(weights.rows);
  const column = highlight.columns?.[0] ?? argMax(weights.columns);
  const weight = combineWeights(view, [row], [column]);
  const names = { query: tokenName(source, view, 'rows', row), key: tokenName(source, view, 'columns', column) };
  if (weight !== weight) return fillElements(t('says_masked'), names);
  if (view.effects) return describeEffect(view, [row, column], names);
  const heads = view.maximum ? 'max' : view.layer === 'mean' || view.head === 'mean' ? 'mean' : 'one';
  const numbers = heads === 'one' ? { layer: (source.layerNumbers?.[view.layer] ?? view.layer) + 1, head: view.head + 1 } : {};
  const verbPhrase = t(`says_puts_${heads}`, { share: threeDecimals(weight), ...numbers });
  const sentence = t(source.rowVerb(view, row), { puts: verbPhrase });
  return fillElements(sentence, row ? { ...names, after: tokenName(source, view, 'rows', row - 1) } : names);
}

/** "By looking at schläft, head 6 of layer 3 spoke for sleeping: +0.32 nats, predicted." */
function describeEffect(view, [row, column], names) {
  const effect = sumEffects(view, [row], [column]);
  const isSingleHead = typeof view.layer === 'number' && typeof view.head === 'number';
  const head = isSingleHead ? t('effect_head', { layer: view.layer + 1, head: view.head + 1 }) : t('effect_heads');
  const side = Math.abs(effect) < MIN_EFFECT ? 'none' : effect > 0 ? 'for' : 'against';
  const prefix = view.kind !== 'encoder' ? 'says' : view.subject && side !== 'none' ? 'word' : 'sentence';
  const rival = view.subject ? view.subject.rival || null : view.rivals?.[row];
  const lead = rival == null ? [] : [sentenceGap(), formatRival(rival)];
  const word = make('b', {}, make('bdi', {}, view.subject?.word ?? ''));
  return [...fillElements(t(`effect_${prefix}_${side}`, { head, effect: signed(effect, 2) }), { ...names, word }), ...lead];
}

/** "The rival is asleep." */
function formatRival(rival) {
  return make('span', { class: 'quiet' }, ...fillElements(t(rival ? 'effect_over' : 'effect_over_any'), { rival: make('bdi', {}, rival) }));
}

/** Describes a cell of a comparison: the highlighted one, or the one that differs most in the highlighted row or column. */
function describeDifference(source, otherView, view, highlight) {
  const [first, second] = [getHighlightWeights(otherView, highlight), getHighlightWeights(view, highlight)];
  const gap = (axis) => argMax(second[axis].map((weight, index) => Math.abs(first[axis][index] - weight)));
  const [row, column] = [highlight.rows?.[0] ?? gap('rows'), highlight.columns?.[0] ?? gap('columns')];
  const [a, b] = [otherView, view].map((mapView) => combineWeights(mapView, [row], [column]));
  const names = { query: tokenName(source, view, 'rows', row), key: tokenName(source, view, 'columns', column) };
  if (b !== b) return fillElements(t('says_masked'), names);
  if (view.effects) {
    const [first, second] = [otherView, view].map((mapView) => sumEffects(mapView, [row], [column]));
    const numbers = { difference: signed(first - second, 2), a: signed(first, 2), b: signed(second, 2) };
    return fillElements(t('effect_says_difference', numbers), names);
  }
  const errorBounds = [computeErrorBound(otherView, a, [row], [column]), computeErrorBound(view, b, [row], [column])];
  const distance = formatCertain(Math.abs(a - b), Math.max(WEIGHT_ERROR, errorBounds[0]) + Math.max(WEIGHT_ERROR, errorBounds[1]));
  const difference = `${a < b ? '−' : '+'}${distance}`;
  return fillElements(
    t('says_difference', { difference, a: formatCertain(a, errorBounds[0]), b: formatCertain(b, errorBounds[1]) }),
    names,
  );
}
