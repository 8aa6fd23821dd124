// Display name of a model: languages, family, size.

import { state } from '../core/state.js';
import { languageName, t } from '../core/i18n.js';

// Display names of well-known families; other models are shown with their Hub names.
/** @type {[RegExp, string][]} */
const FAMILIES = [
  [/^opus-mt-/i, 'OPUS-MT'],
  [/nllb/i, 'NLLB-200'],
  [/m2m100/i, 'M2M100'],
];

/** "French → English", or empty if the languages are unknown. */
export const pairName = ({ source, target }) =>
  source && target ? t('model_languages', { source: languageName(source), target: languageName(target) }) : '';

/** Sort order: models with a language pair by the name of the pair, then multilingual models by name. */
export const byPair = (a, b) =>
  Number(!pairName(a)) - Number(!pairName(b)) || (pairName(a) || kindName(a)).localeCompare(pairName(b) || kindName(b), state.language);

/** "OPUS-MT" for well-known families, else the model's name. */
export function kindName({ name, where }) {
  const shortName = name.split('/').at(-1);
  return (where === 'hub' && FAMILIES.find(([pattern]) => pattern.test(shortName))?.[1]) || shortName;
}

export function formatSize(bytes) {
  const [unit, name] = bytes >= 1e6 ? [1e6, 'models_megabytes'] : [1e3, 'models_kilobytes'];
  const number = bytes / unit;
  return t(name, { size: number < 10 ? number.toFixed(1) : Math.round(number).toLocaleString(state.language) });
}

/** A waiting time as text, rounded to 5 seconds or to minutes. */
export function formatWait(seconds) {
  if (seconds < 90) return t('wait_seconds', { count: Math.max(5, 5 * Math.round(seconds / 5)) });
  return t('wait_minutes', { count: Math.round(seconds / 60) });
}
