// The faithfulness report as groups of methods, bars and a sentence; the completeness of integrated gradients.

import { make } from '../core/dom.js';
import { formatSigned, signed, twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';

/** Sentence on the most faithful methods of a report: the highest and the lowest of their areas. */
export function faithfulnessText({ methods, sentences, tau }) {
  const bestMethods = tiedMethods(methods);
  const [high, low] = [bestMethods[0], bestMethods.at(-1)].map((name) => signed(methods[name].area, 2));
  const numbers = {
    count: sentences,
    name: t(`method_${bestMethods[0]}`),
    high,
    low,
  };
  const comparisons = {
    raw: signed(methods.average.area, 2),
    bound: signed(methods.erasure.area, 2),
    tau: twoDecimals(tau.average.erasure),
  };
  return t(bestMethods.length > 1 ? 'word_verdict_equal' : 'word_verdict', { ...numbers, ...comparisons });
}

/** The best method except erasure, and its ties: each area is in the confidence interval of the other. */
export function tiedMethods(methods) {
  const names = Object.keys(methods).filter((name) => name !== 'erasure');
  names.sort((a, b) => methods[b].area - methods[a].area);
  const best = methods[names[0]];
  return names.filter((name) => methods[name].area >= best.low && methods[name].high >= best.area);
}

/** The methods in two groups by their faithfulness, as {name, methods}: the best one with its ties, and the others. */
export function methodGroups(names, methods) {
  const area = (name) => methods[name]?.area ?? -Infinity; // a method that was not measured is last
  const sorted = [...names].sort((a, b) => area(b) - area(a));
  const best = new Set([...tiedMethods(methods), 'erasure']);
  const groups = [
    { name: 'word_faithful_best', methods: sorted.filter((name) => best.has(name)) },
    { name: 'word_faithful_less', methods: sorted.filter((name) => !best.has(name)) },
  ];
  return groups.filter((group) => group.methods.length);
}

/** Bar of a method's faithfulness over many sentences, with its confidence interval. */
export function faithfulnessBar(methods, method) {
  const corpusScore = methods[method];
  if (!corpusScore) return make('span', { class: 'faith quiet' }, '–');
  const maxBound = Math.max(...Object.values(methods).map(({ high }) => high));
  const percent = (value) => `${((100 * Math.max(0, value)) / maxBound).toFixed(1)}%`;
  const interval = make('s', { style: `left:${percent(corpusScore.low)};right:calc(100% - ${percent(corpusScore.high)})` });
  const bar = make('span', { class: 'track' }, make('i', { style: `width:${percent(corpusScore.area)}` }), interval);
  const bounds = `${signed(corpusScore.low, 2)} … ${signed(corpusScore.high, 2)}`;
  return make('span', { class: 'faith', title: bounds }, bar, make('span', { class: 'numeric' }, signed(corpusScore.area, 2)));
}

const MAX_COMPLETE_GAP = 0.01; // nats; with a smaller gap the attribution counts as complete

/** Sentence that compares the sum of the integrated gradients with the expected sum; empty without a `gap`. */
export function completenessText(gap) {
  if (!gap) return '';
  const [missed, whole] = [twoDecimals(gap.missing), formatSigned(gap.expected, 2)];
  return t(gap.missing < MAX_COMPLETE_GAP ? 'word_complete' : 'word_gap', { missed, whole });
}
