// What an address asks for: the request, what is asked instead of what there is not, and where one looks in the answer.

import { lookOf, readLink, withinAnswer } from '../core/link.js';
import { LET_GO, state } from '../core/state.js';
import { bestHead } from '../core/telling.js';

/** All of the request that an address names a part of: a sentence, or a model alone. Nothing where it names neither. */
export function wantedBy(request, usual, example) {
  const text = request.text ?? example?.text ?? (request.model && state.answer?.request.text);
  if (!text) return null;
  const { model = usual.model, source_language = '', target_language = '' } = request;
  const wanted = { prefix: null, target: null, ...state.usuals[model], ...request, model, source_language, target_language, text };
  if (wanted.temperature > 0) wanted.beam_size = 1;
  return wanted;
}

/** Whether a request is the one that an answer, or another request, was asked with. */
export function isAsked(wanted, given = {}) {
  return Object.keys(wanted).every((name) => JSON.stringify(given[name] ?? null) === JSON.stringify(wanted[name] ?? null));
}

/** What is usual for a field of a request; nothing where that is what was asked for. */
export function usualInstead(request, field, usual) {
  const value = { ...usual, ...state.usuals[request.model] }[field];
  return request[field] === value ? undefined : value;
}

/**
 * Where one looks in an answer: where the address wants, else at the same place, as far as that is still there. Heads of
 * another model are other heads: there one begins at the one that tells most.
 */
export function lookAt(answer, following) {
  const first = !state.answer;
  if (!first && !following && state.answer.model.name !== answer.model.name && answer.tensors.cross) {
    const look = { ...LET_GO, pinned: null, besideHead: null, kind: 'cross', ...bestHead(answer) };
    return { ...look, ...withinAnswer(answer, { ...state, ...look }) };
  }
  const stays = first || sameShape(state.answer, answer) ? {} : LET_GO;
  const linked = first ? readLink() : following; // a first visit begins with what the address wants
  return { ...stays, ...(linked ? lookOf(answer, linked) : withinAnswer(answer, { ...state, ...stays })) };
}

const ids = (tokens) => tokens.map((token) => token.id).join();
const sameShape = (one, other) => ids(one.source) === ids(other.source) && ids(one.target) === ids(other.target);
