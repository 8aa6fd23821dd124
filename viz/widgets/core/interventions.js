// Interventions of the What if tab. The page stores them as JSON text; some apply to one sentence only.

import { state } from './state.js';

const SENTENCE_ACTIONS = new Set(['mask', 'erase', 'swap', 'drag']);

/** @returns {any[]} */
export const parseInterventions = (text) => (text ? JSON.parse(text) : []);
export const formatInterventions = (list) => (list.length ? JSON.stringify(list) : '');

/** Identifies the model and sentence of interventions on words and cells. */
export const sentenceKey = (translation) => (translation ? `${translation.model.name}\n${translation.source_text}` : '');

/** The interventions that also apply to another sentence: not on words or cells, and only on existing heads. */
export function transferable(translation, text) {
  const isInRange = (kind, layer, head) =>
    !kind || !translation.tensors[kind] || ((layer ?? 0) < translation.layers(kind) && (head ?? 0) < translation.heads(kind));
  // Interventions on parts of a layer have a side, with as many layers as its self-attention. A copy has a second head.
  const exists = ({ kind, side, layer, head, from_layer: fromLayer, from_head: fromHead }) =>
    isInRange(kind ?? side, layer, head) && isInRange(kind, fromLayer ?? layer, fromHead);
  return formatInterventions(
    parseInterventions(text).filter((intervention) => !SENTENCE_ACTIONS.has(intervention.action) && exists(intervention)),
  );
}

/** Interventions that a new translation keeps: `{}` if it keeps all. */
export function remainingInterventions(translation) {
  const before = state.translation;
  if (!state.interventions || !before || sentenceKey(before) === sentenceKey(translation)) return {};
  return { interventions: transferable(translation, state.interventions) };
}
