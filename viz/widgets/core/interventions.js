// Interventions of the What if tab. The page stores them as JSON text; some apply to one sentence only.

import { state } from './state.js';

const SENTENCE_ACTIONS = new Set(['mask', 'erase', 'swap', 'drag']);

/** @returns {any[]} */
export const parseInterventions = (text) => (text ? JSON.parse(text) : []);
export const formatInterventions = (list) => (list.length ? JSON.stringify(list) : '');

/** Key of the model and sentence to which interventions on words and cells apply. */
export const getSentenceKey = (translation) => (translation ? `${translation.model.name}\n${translation.source_text}` : '');

/**
 * Removes the interventions that do not apply to another sentence: those on words and cells, and those on heads that its
 * model lacks. Takes and returns JSON text.
 */
export function keepTransferable(translation, text) {
  const isInRange = (kind, layer, head) =>
    !kind || !translation.tensors[kind] || ((layer ?? 0) < translation.layers(kind) && (head ?? 0) < translation.heads(kind));
  // Interventions on parts of a layer have a side, with as many layers as its self-attention. A copy has a second head.
  const exists = ({ kind, side, layer, head, from_layer: fromLayer, from_head: fromHead }) =>
    isInRange(kind ?? side, layer, head) && isInRange(kind, fromLayer ?? layer, fromHead);
  return formatInterventions(
    parseInterventions(text).filter((intervention) => !SENTENCE_ACTIONS.has(intervention.action) && exists(intervention)),
  );
}

/** State change for a new translation: its remaining interventions, or `{}` if all of them remain. */
export function filterInterventions(translation) {
  const previous = state.translation;
  if (!state.interventions || !previous || getSentenceKey(previous) === getSentenceKey(translation)) return {};
  return { interventions: keepTransferable(translation, state.interventions) };
}
