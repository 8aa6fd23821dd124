// Interventions that outlive a translation. The page stores them as text; some belong to one sentence.

import { state } from './state.js';

const OF_A_SENTENCE = new Set(['mask', 'erase', 'swap', 'drag']);

/** @returns {any[]} */
export const listOf = (text) => (text ? JSON.parse(text) : []);
export const textOf = (list) => (list.length ? JSON.stringify(list) : '');

/** What changes of words and of places belong to: a sentence, as a model reads it. */
export const sentenceOf = (translation) => (translation ? `${translation.model.name}\n${translation.source_text}` : '');

/** Of the changes those that another sentence can have, too: without its words and its places, and of heads that there are. */
export function changesFor(translation, text) {
  const within = (kind, layer, head) =>
    !kind || !translation.tensors[kind] || ((layer ?? 0) < translation.layers(kind) && (head ?? 0) < translation.heads(kind));
  // A layer's parts go by the side; its self-attention has as many layers. A copied map has another head's place as well.
  const there = ({ kind, side, layer, head, from_layer: fromLayer, from_head: fromHead }) =>
    within(kind ?? side, layer, head) && within(kind, fromLayer ?? layer, fromHead);
  return textOf(listOf(text).filter((each) => !OF_A_SENTENCE.has(each.action) && there(each)));
}

/** Interventions that a new translation keeps: `{}` if it keeps all. */
export function keptChanges(translation) {
  const before = state.translation;
  if (!state.interventions || !before || sentenceOf(before) === sentenceOf(translation)) return {};
  return { interventions: changesFor(translation, state.interventions) };
}
