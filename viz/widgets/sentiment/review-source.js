// The source of a head view for a review (see headview/translation-source.js). Long reviews only have average rows.

import { decodeWeights, MAX_LEVEL } from '../core/weight-decoding.js';
import { make, fillElements } from '../core/dom.js';
import { formatCertain, computeErrorBound, fourDecimals, getRowWeights } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { maxWeight } from '../headview/highlights.js';
import { headName } from '../parts/head-names.js';

const HEADS_PER_ROW = 3; // in the head wall of a small model
const MAX_FLAT_HEADS = 24; // with more heads, or several layers, the wall has a row per layer, with averages at the ends
const MAX_UNSCROLLED_TOKENS = 120; // a longer strip scrolls

export class ReviewSource {
  constructor(review) {
    this.review = review;
    this.kinds = [];
    this.layered = review.shape[0] > 1 || review.shape[1] > MAX_FLAT_HEADS;
    this.merges = false;
    this.relative = true;
    this.mapped = Boolean(review.attention);
    this.tokens = review.tokens.map((token, index) => ({ ...token, key: `r${index}`, full: token.full ?? token.label, places: [index] }));
    const { mapped, tokens } = this;
    const [layers, heads] = review.shape;
    const rows = mapped ? tokens : [{ ...tokens[0], key: 'mean', label: '', full: '' }];
    const base = { kind: 'encoder', rows, columns: tokens };
    const levels = mapped ? decodeWeights(review.attention.letters) : null;
    const cellCount = tokens.length ** 2;
    const decodeMap = (headIndex) =>
      Float32Array.from(levels.subarray(headIndex * cellCount, (headIndex + 1) * cellCount), (level) => level / MAX_LEVEL);
    const headViews = Array.from({ length: layers * heads }, (_, headIndex) => {
      const [layer, head] = [Math.floor(headIndex / heads), headIndex % heads];
      const average = Float32Array.from(review.received[layer][head]);
      return { ...base, layer, head, weights: mapped ? decodeMap(headIndex) : average, average };
    });
    const averageView = (layer, head) => {
      const selectedViews = headViews.filter(
        (view) => (layer === 'mean' || view.layer === layer) && (head === 'mean' || view.head === head),
      );
      return {
        ...base,
        layer,
        head,
        weights: mean(selectedViews.map((view) => view.weights)),
        average: mean(selectedViews.map((view) => view.average)),
      };
    };
    const layerMeans = this.layered ? [...Array(layers).keys()].map((layer) => averageView(layer, 'mean')) : [];
    const headMeans = this.layered ? [...Array(heads).keys()].map((head) => averageView('mean', head)) : [];
    this.views = [...headViews, ...layerMeans, ...headMeans, averageView('mean', 'mean')];
  }

  wallLayout() {
    if (this.layered) {
      const [layers, heads] = this.review.shape.map((count) => [...Array(count).keys(), 'mean']);
      return layers.map((layer) => heads.map((head) => ({ layer, head })));
    }
    const heads = this.views.map(({ layer, head }) => ({ layer, head }));
    return Array.from({ length: Math.ceil(heads.length / HEADS_PER_ROW) }, (_, row) =>
      heads.slice(row * HEADS_PER_ROW, (row + 1) * HEADS_PER_ROW),
    );
  }

  nearestHead(_, { layer, head }) {
    const view = this.views.find((view) => view.layer === layer && view.head === head) ?? this.views.at(-1);
    return { layer: view.layer, head: view.head };
  }

  view(_, { layer, head }) {
    return this.views.find((view) => view.layer === layer && view.head === head);
  }

  /** The weights of an average row are small, so they are normalised to their maximum. */
  thumbnailMap(kind, head) {
    const view = this.view(kind, head);
    if (this.mapped) return view;
    const maximum = maxWeight(view.weights);
    return { ...view, weights: view.weights.map((weight) => weight / maximum) };
  }

  sentences() {
    const long = this.mapped ? MAX_UNSCROLLED_TOKENS : Infinity;
    return [
      { side: 'review', language: this.review.language, tokens: this.tokens, text: this.review.text, named: false, idle: false, long },
    ];
  }

  keys(_, __, item) {
    return [item.key];
  }

  headName({ layer, head }) {
    if (this.layered) return headName(layer, head);
    if (head === 'mean') return t('sentiment_mean');
    return t('sentiment_head', { head: head + 1 });
  }

  shortName({ head }) {
    return head === 'mean' ? t('sentiment_mean_short') : String(head + 1);
  }

  /** Caption of the values that shade the text. */
  captionElements(view, { rows, columns }) {
    if (rows) {
      const strongest = maxWeight(getRowWeights(view, rows[0]));
      const maximum = formatCertain(strongest, computeErrorBound(view, strongest, [rows[0]], [0]));
      return fillElements(t('sentiment_row', { most: maximum }), this.token(view, 'rows', rows));
    }
    if (columns) return fillElements(t('sentiment_column'), this.token(view, 'columns', columns));
    return [t('sentiment_average', { most: fourDecimals(maxWeight(view.average)) })];
  }

  listTitle(view, { rows, columns }) {
    if (rows) return fillElements(t('sentiment_row_list'), this.token(view, 'rows', rows));
    return columns ? fillElements(t('list_column'), this.token(view, 'columns', columns)) : [t('sentiment_most')];
  }

  /** Average weight per token, for shading when nothing is highlighted. */
  defaultWeights(view) {
    return view.average;
  }

  defaultText(view, index) {
    return fillElements(t('sentiment_gets'), this.token(view, 'columns', [index]));
  }

  token(view, axis, indices) {
    return { token: make('b', {}, this.name(view, axis, indices)) };
  }

  name(view, axis, [index]) {
    return make('bdi', { lang: this.review.language }, view[axis][index].label);
  }
}

function mean(arrays) {
  const sum = new Float32Array(arrays[0].length);
  for (const array of arrays) for (let cell = 0; cell < sum.length; cell++) sum[cell] += array[cell] / arrays.length;
  return sum;
}
