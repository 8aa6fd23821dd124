// Display name of a model: languages, family, size.

import { state } from '../core/state.js';
import { languageName, t } from '../core/i18n.js';

// Kinds that people know by name; any other model is called as it is on the Hub.
/** @type {[RegExp, string][]} */
const KINDS = [
  [/^opus-mt-/i, 'OPUS-MT'],
  [/nllb/i, 'NLLB-200'],
  [/m2m100/i, 'M2M100'],
];

/** "French → English", or empty if unknown. */
export const pairName = ({ source, target }) =>
  source && target ? t('model_languages', { source: languageName(source), target: languageName(target) }) : '';

/** For sorting: models of one pair by its name, then those of many languages by theirs. */
export const byPair = (one, other) =>
  Number(!pairName(one)) - Number(!pairName(other)) ||
  (pairName(one) || kindName(one)).localeCompare(pairName(other) || kindName(other), state.language);

/** "OPUS-MT" or "de-en": a model without its languages. */
export function kindName({ name, where }) {
  const own = name.split('/').at(-1);
  return (where === 'hub' && KINDS.find(([pattern]) => pattern.test(own))?.[1]) || own;
}

export function formatSize(bytes) {
  const [unit, name] = bytes >= 1e6 ? [1e6, 'models_megabytes'] : [1e3, 'models_kilobytes'];
  const number = bytes / unit;
  return t(name, { size: number < 10 ? number.toFixed(1) : Math.round(number).toLocaleString(state.language) });
}

/** A wait in words, rounded as roughly as it is known. */
export function formatWait(seconds) {
  if (seconds < 90) return t('wait_seconds', { count: Math.max(5, 5 * Math.round(seconds / 5)) });
  return t('wait_minutes', { count: Math.round(seconds / 60) });
}
