// Interventions that outlive a translation. The page stores them as text; some belong to one sentence.

import { state } from './state.js';

const SENTENCE_ACTIONS = new Set(['mask', 'erase', 'swap', 'drag']);

/** @returns {any[]} */
export const parseInterventions = (text) => (text ? JSON.parse(text) : []);
export const formatInterventions = (list) => (list.length ? JSON.stringify(list) : '');

/** What changes of words and of places belong to: a sentence, as a model reads it. */
export const sentenceKey = (translation) => (translation ? `${translation.model.name}\n${translation.source_text}` : '');

/** Of the changes those that another sentence can have, too: without its words and its places, and of heads that there are. */
export function transferable(translation, text) {
  const within = (kind, layer, head) =>
    !kind || !translation.tensors[kind] || ((layer ?? 0) < translation.layers(kind) && (head ?? 0) < translation.heads(kind));
  // A layer's parts go by the side; its self-attention has as many layers. A copied map has another head's place as well.
  const there = ({ kind, side, layer, head, from_layer: fromLayer, from_head: fromHead }) =>
    within(kind ?? side, layer, head) && within(kind, fromLayer ?? layer, fromHead);
  return formatInterventions(parseInterventions(text).filter((each) => !SENTENCE_ACTIONS.has(each.action) && there(each)));
}

/** Interventions that a new translation keeps: `{}` if it keeps all. */
export function remainingInterventions(translation) {
  const before = state.translation;
  if (!state.interventions || !before || sentenceKey(before) === sentenceKey(translation)) return {};
  return { interventions: transferable(translation, state.interventions) };
}
