// Phrases of a step for the current model, and their placeholder values.

import { hasPhrase, languageName, t } from '../core/i18n.js';
import { rowText } from '../parts/row-name.js';

/** Key of the step's text: the first variant that applies, or `_open` until the question is answered. */
export function wordsKey(base, scene, open) {
  if (open) return `${base}_words_open`;
  const ending = scene.variants().find((variant) => hasPhrase(`${base}_words_${variant}`));
  return ending ? `${base}_words_${ending}` : `${base}_words`;
}

/** Key of the title: the first variant that applies. The variant `_open` does not reveal the answer. */
export function titleKey(base, variants, open) {
  const ending = (open ? ['open', ...variants] : variants).find((variant) => hasPhrase(`${base}_title_${variant}`));
  return ending ? `${base}_title_${ending}` : `${base}_title`;
}

/** Key of the note below the formulas, or null. */
export function noteKey(base, scene) {
  const ending = scene.variants().find((variant) => hasPhrase(`${base}_note_${variant}`));
  const key = ending ? `${base}_note_${ending}` : `${base}_note`;
  return hasPhrase(key) ? key : null;
}

/** The first formula variant whose conditions are all met, else the step itself. The formula may be empty. */
export function formulaFor(scene) {
  const { step } = scene;
  const variants = scene.variants();
  return step.otherwise?.find(({ when }) => when.every((condition) => variants.includes(condition))) ?? step;
}

/** Placeholder values of the phrases: the selected tokens and the languages. */
export function phraseValues(scene) {
  const { look, translation, columns } = scene;
  const { source, target } = translation.model;
  return {
    token: translation.source[look.token].label,
    row: rowText(scene.rowItems[scene.row]),
    written: translation.target[look.written].label,
    read: translation.previousToken('cross', look.written).label,
    key: columns[scene.key].label,
    source: source ? languageName(source) : t('lesson_any_source'),
    target: target ? languageName(target) : t('lesson_any_target'),
    so_far: writtenText(translation, look.written),
  };
}

function writtenText(translation, written) {
  const { end } = written ? translation.target[written - 1] : { end: 0 };
  return translation.text.slice(0, end).trim() || translation.start.label;
}
