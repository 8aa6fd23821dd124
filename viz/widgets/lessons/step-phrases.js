// Which phrases a step has for the model in use, and the names that stand in them.

import { hasPhrase, languageName, t } from '../core/i18n.js';

/** The words as the model in use wants them: of several, those whose ending holds; others as long as a guess is `open`. */
export function wordsKey(base, scene, open) {
  if (open) return `${base}_words_open`;
  const ending = scene.variants().find((each) => hasPhrase(`${base}_words_${each}`));
  return ending ? `${base}_words_${ending}` : `${base}_words`;
}

/** The title, which may depend on what holds, too. Before a question is answered it may be one that says less. */
export function titleKey(base, holds, open) {
  const ending = (open ? ['open', ...holds] : holds).find((each) => hasPhrase(`${base}_title_${each}`));
  return ending ? `${base}_title_${ending}` : `${base}_title`;
}

/** The note below the formulas, if there is one. */
export function noteKey(base, scene) {
  const ending = scene.variants().find((each) => hasPhrase(`${base}_note_${each}`));
  const key = ending ? `${base}_note_${ending}` : `${base}_note`;
  return hasPhrase(key) ? key : null;
}

/** The formula of a step and the same with its numbers, as the model in use has them; a step may have no formula there. */
export function formulaFor(scene) {
  const { step } = scene;
  const holds = scene.variants();
  return step.otherwise?.find(({ when }) => when.every((each) => holds.includes(each))) ?? step;
}

/** Tokens and languages, by the names that phrases call them. */
export function phraseValues(scene) {
  const { look, translation, rows, columns } = scene;
  const { source, target } = translation.model;
  return {
    token: translation.source[look.token].label,
    row: rows[scene.row].label,
    written: translation.target[look.written].label,
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
