// The grade of a translation: a fitted rule applied to its evidence, as `model/translate/reliability.py` does.

import { adaptText } from './cleaning.js';
import { collectEvidence } from './evidence.js';
import { identify } from './identification.js';
import { isCareless } from './respelling.js';
import { tables } from './tables.js';

/**
 * @typedef {{ features: string[], weights: number[], means: number[], scales: number[], bias: number, right: number, doubt: number, careless: number | null }} Weights
 *   a logistic model and the thresholds of its grades; `careless`: in place of `right`, for a carelessly typed sentence
 * @typedef {{ source: string, target: string, usual_length: number, alone: Weights, with_back: Weights | null }} FittedRule from the
 *   model's folder
 */

const MAX_LOGIT = 30;
const { max_probability: maxProbability, never_right: neverRight, unfitted, numbers: numberLanguages } = tables.reliability;

/** The probability that a translation with these features is right. */
function rightProbability(/** @type {Weights} */ { features, weights, means, scales, bias }, values) {
  const terms = features.map((name, index) => (weights[index] * (values[name] - means[index])) / scales[index]);
  const logit = terms.reduce((sum, term) => sum + term, bias);
  return 1 / (1 + Math.exp(-Math.max(-MAX_LOGIT, Math.min(MAX_LOGIT, logit))));
}

/** @returns {'right' | 'check' | 'doubt'} */
function chooseGrade(/** @type {Weights} */ { right, doubt, careless }, probability, { differs, isCarelesslyTyped }) {
  if (probability >= (isCarelesslyTyped ? (careless ?? right) : right) && !differs) return 'right';
  return probability >= doubt ? 'check' : 'doubt';
}

/**
 * Whether the sentence is typed carelessly, by its look, or because its back-translation has other spellings.
 * @param {{ sourceText: string }} translation
 * @param {string} language
 * @param {import('./facts.js').BackTranslation | null} back
 */
function isTypedCarelessly({ sourceText }, language, back) {
  return isCareless(sourceText, language) || (back !== null && back.sentence !== adaptText(sourceText, language).read);
}

const round = (number) => Math.round(number * 1e4) / 1e4;

/** The reliability by a fitted rule. @returns {import('messages').ReliabilityValues} */
function judgeFitted(translation, /** @type {FittedRule} */ rule, back) {
  const usual = { source: rule.source, target: rule.target, usualLength: rule.usual_length };
  const read = rule.with_back ? back : null;
  const { features, reasons } = collectEvidence(translation, usual, read);
  const weights = read && rule.with_back ? rule.with_back : rule.alone;
  const kinds = reasons.map(({ kind }) => kind);
  const limits = kinds.filter((kind) => kind in maxProbability).map((kind) => maxProbability[kind]);
  const probability = Math.min(rightProbability(weights, features), ...limits);
  const differs = kinds.some((kind) => neverRight.includes(kind));
  const grade = chooseGrade(weights, probability, { differs, isCarelesslyTyped: isTypedCarelessly(translation, rule.source, read) });
  return { probability: round(probability), grade, reasons, back: read?.text ?? null };
}

/** The reliability of a model without a fitted rule: no probability, only general reasons. @returns {import('messages').ReliabilityValues} */
function judgeUnfitted(translation, back) {
  const [source, target] = [translation.sourceText, translation.text].map((text) => identify(text) ?? '');
  // In other languages only digits are recognised, without their grouping, so numbers cannot be compared.
  const kinds = [source, target].every((language) => numberLanguages.includes(language)) ? [...unfitted, 'numbers'] : unfitted;
  const { reasons } = collectEvidence(translation, { source, target, usualLength: 0 }, back);
  const own = reasons.filter(({ kind }) => kinds.includes(kind));
  return { probability: null, grade: own.length ? 'check' : null, reasons: own, back: back?.text ?? null };
}

/** Whether reading back changes the reliability of a translation. */
export const usesBackTranslation = ({ request }, /** @type {FittedRule | null} */ rule) =>
  request.target === null && Boolean(rule?.with_back);

/**
 * The reliability of a translation in the page's form, or null for a forced one.
 * @param {any} translation
 * @param {FittedRule | null} rule null: the model has none that was fitted
 * @param {import('./facts.js').BackTranslation | null} [back]
 * @returns {import('messages').ReliabilityValues | null}
 */
export function judgeTranslation(translation, rule, back = null) {
  if (translation.request.target !== null) return null;
  return rule ? judgeFitted(translation, rule, back) : judgeUnfitted(translation, back);
}
