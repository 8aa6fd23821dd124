// Reranking of the hypotheses of a beam by the score of a reverse model: the rules of `model/translate/reranking.py`.

import { scoreSentence } from './back-translation.js';
import { splitWords } from './characters.js';
import { translate } from './translator.js';

/** Whether a request keeps all hypotheses, which a reverse model ranks. */
export const canRerank = ({ request, hypotheses }) => request.options.back_weight > 0 && hypotheses.length > 1;

/** The same request without reranking: a reverse model would choose the hypothesis that hides the damage of a change. */
export const ownChoice = (request) => ({ ...request, options: { ...request.options, back_weight: 0 } });

/** The sentence as the model read it, without hidden words. */
function visibleText({ sourceText, source, hidden }) {
  const characters = Array.from(sourceText);
  for (const index of [...hidden].sort((one, other) => other - one)) {
    const { piece, start, end } = source[index];
    if (piece === 0) characters.splice(start, end - start); // the pieces of one character share its span
  }
  return splitWords(characters.join('')).join(' ');
}

/** Hypotheses by both scores, best first. Truncated ones follow finished ones, and those without a reverse score are last. */
function rankHypotheses(hypotheses, weight) {
  const order = (item) => [item.reverse_score === null, !item.ended, -item.score - weight * (item.reverse_score ?? 0)].map(Number);
  return [...hypotheses].sort((one, other) => {
    const [ranks, others] = [order(one), order(other)];
    const at = ranks.findIndex((rank, index) => rank !== others[index]);
    return at < 0 ? 0 : ranks[at] - others[at];
  });
}

/**
 * The translation that both models rank first. Null if it was stopped.
 * @param {import('./translator.js').Model} model
 * @param {import('./translator.js').Model} reverse
 * @param {any} translation with all hypotheses of its beam
 * @param {{ tokens: number }} limits
 * @param {import('./translator.js').Control} control
 */
export async function rerank(model, reverse, translation, limits, control) {
  const begin = performance.now();
  const { request } = translation;
  const sentence = visibleText(translation);
  const scored = [];
  for (const hypothesis of translation.hypotheses) {
    await control.pause?.();
    if (control.isStopped?.()) return null;
    const score = scoreSentence(reverse, sentence, hypothesis.text);
    scored.push({ ...hypothesis, reverse_score: score && score.logProbability / score.tokens.length });
  }
  const hypotheses = rankHypotheses(scored, request.options.back_weight);
  const seconds = () => translation.seconds + (performance.now() - begin) / 1000;
  const [best] = hypotheses;
  if (best === scored[0]) return { ...translation, hypotheses, seconds: seconds() };
  const captured = await translate(model, { ...request, target: best.ids, prefix: null }, limits, { ...control, onToken: undefined });
  if (!captured) return null;
  const stopped = best.ended ? 'end' : 'length';
  return { ...captured, request, hypotheses, tree: translation.tree, stopped, seconds: seconds() };
}
