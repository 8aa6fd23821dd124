// Requests and selections from permalinks, with fallbacks for missing models and options.

import { selectionFor, parsePermalink, clampSelection } from '../core/permalink.js';
import { NO_SELECTION, state } from '../core/state.js';
import { defaultHead } from '../core/default-head.js';
import { informativeRow } from '../core/selection.js';
import { remapPins } from '../core/pins.js';

/** All of the request that an address names a part of: a sentence, or a model alone. Nothing where it names neither. */
export function requestFromLink(request, defaults, example) {
  const text = request.text ?? example?.text ?? (request.model && state.translation?.request.text);
  if (!text) return null;
  const { model = defaults.model, source_language = '', target_language = '' } = request;
  const wanted = { prefix: null, target: null, ...state.modelDefaults[model], ...request, model, source_language, target_language, text };
  if (wanted.temperature > 0) wanted.beam_size = 1;
  return wanted;
}

/** Whether a request is the one that a translation, or another request, was asked with. */
export function isSameRequest(wanted, given = {}) {
  return Object.keys(wanted).every((name) => JSON.stringify(given[name] ?? null) === JSON.stringify(wanted[name] ?? null));
}

/** The default of a field of a request; `undefined` where the request names just that. */
export function fallbackFor(request, field, defaults) {
  const value = { ...defaults, ...state.modelDefaults[request.model] }[field];
  return request[field] === value ? undefined : value;
}

/**
 * Where one looks in a translation: where the address wants, else at the same head, as far as that is still there, and in
 * another sentence at its most telling row. Heads of another model are other heads: there one begins at the one that tells most.
 */
export function initialSelection(translation, following) {
  const first = !state.translation;
  if (!first && !following && state.translation.model.name !== translation.model.name && translation.tensors.cross) {
    return withInformativeRow(translation, {
      ...NO_SELECTION,
      pinned: null,
      besideHead: null,
      lastHeads: {},
      kind: 'cross',
      ...defaultHead(translation),
    });
  }
  const linked = first ? parsePermalink() : following; // a first visit begins with what the address wants
  const stays = first || sameShape(state.translation, translation);
  if (linked) return { ...(stays ? {} : NO_SELECTION), ...selectionFor(translation, linked) };
  return stays ? clampSelection(translation, state) : withInformativeRow(translation, NO_SELECTION);
}

/** What is chosen, and in it the row that tells most. */
function withInformativeRow(translation, chosen) {
  const look = { ...chosen, ...clampSelection(translation, { ...state, ...chosen }) };
  return { ...look, row: informativeRow(translation, look, state) };
}

const ids = (tokens) => tokens.map((token) => token.id).join();
const sameShape = (one, other) => ids(one.source) === ids(other.source) && ids(one.target) === ids(other.target);

/** Where one looks in a live answer: every pin stays with its word, unless the model is another one. */
export function liveLook(before, translation) {
  if (before?.model.name !== translation.model.name) return initialSelection(translation, null);
  return { hoverRow: null, hoverColumn: null, written: null, ...remapPins(before, translation, state) };
}
