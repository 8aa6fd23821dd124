// Sentences about the faithfulness report and about the completeness of integrated gradients.

import { formatSigned, signed, twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';

/** Names the most faithful methods of a report. */
export function faithfulnessText({ methods, sentences, tau }) {
  const equal = tiedMethods(methods);
  const [high, low] = [equal[0], equal.at(-1)].map((name) => signed(methods[name].area, 2));
  const numbers = {
    count: sentences,
    equal: equal.length,
    names: equal.map((name) => t(`method_${name}`)).join(t('list_comma')),
    high,
    low,
  };
  const others = {
    raw: signed(methods.average.area, 2),
    bound: signed(methods.erasure.area, 2),
    tau: twoDecimals(tau.average.erasure),
  };
  return t(equal.length > 1 ? 'word_verdict_equal' : 'word_verdict', { ...numbers, ...others });
}

/** The best method except erasure, and its ties: each area is in the confidence interval of the other. */
export function tiedMethods(methods) {
  const order = Object.keys(methods).filter((name) => name !== 'erasure');
  order.sort((one, other) => methods[other].area - methods[one].area);
  const best = methods[order[0]];
  return order.filter((name) => methods[name].area >= best.low && methods[name].high >= best.area);
}

const COMPLETE = 0.01; // nats; a smaller gap counts as complete

/** Compares the sum of the integrated gradients with the expected sum. */
export function completenessText(gap) {
  if (!gap) return '';
  const [missed, whole] = [twoDecimals(gap.missing), formatSigned(gap.expected, 2)];
  return t(gap.missing < COMPLETE ? 'word_complete' : 'word_gap', { missed, whole });
}
