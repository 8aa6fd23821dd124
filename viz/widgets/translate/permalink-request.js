// Requests and selections from permalinks, with fallbacks for missing models and options.

import { selectionFor, parsePermalink, clampSelection } from '../core/permalink.js';
import { NO_SELECTION, state } from '../core/state.js';
import { defaultHead } from '../core/default-head.js';
import { informativeRow } from '../core/selection.js';
import { remapPins } from '../core/pins.js';

/** The full request of a permalink with a sentence or a model; null if it has neither. */
export function requestFromLink(request, defaults, example) {
  const text = request.text ?? example?.text ?? (request.model && state.translation?.request.text);
  if (!text) return null;
  const { model = defaults.model, source_language = '', target_language = '' } = request;
  const wanted = { prefix: null, target: null, ...state.modelDefaults[model], ...request, model, source_language, target_language, text };
  if (wanted.temperature > 0) wanted.beam_size = 1;
  return wanted;
}

/** Whether two requests are equal. */
export function isSameRequest(wanted, given = {}) {
  return Object.keys(wanted).every((name) => JSON.stringify(given[name] ?? null) === JSON.stringify(wanted[name] ?? null));
}

/** The default of a request field, or `undefined` if the field already has it. */
export function fallbackFor(request, field, defaults) {
  const value = { ...defaults, ...state.modelDefaults[request.model] }[field];
  return request[field] === value ? undefined : value;
}

/**
 * The selection for a new translation: from the permalink, or else the current head if it still exists, with the most
 * informative row for a new sentence. Another model has other heads, so start with its default head.
 */
export function initialSelection(translation, following) {
  const before = state.translation;
  const first = !before;
  if (before && !following && before.model.name !== translation.model.name && translation.tensors.cross) {
    return withInformativeRow(translation, {
      ...NO_SELECTION,
      pinned: null,
      besideHead: null,
      lastHeads: {},
      kind: 'cross',
      ...defaultHead(translation),
    });
  }
  const linked = first ? parsePermalink() : following; // the first visit starts with the permalink
  const stays = !before || sameShape(before, translation);
  if (linked) return { ...(stays ? {} : NO_SELECTION), ...selectionFor(translation, linked) };
  return stays ? clampSelection(translation, state) : withInformativeRow(translation, NO_SELECTION);
}

/** A selection with its most informative row. */
function withInformativeRow(translation, chosen) {
  const look = { ...chosen, ...clampSelection(translation, { ...state, ...chosen }) };
  return { ...look, row: informativeRow(translation, look, state) };
}

const ids = (tokens) => tokens.map((token) => token.id).join();
const sameShape = (one, other) => ids(one.source) === ids(other.source) && ids(one.target) === ids(other.target);

/**
 * The selection after a live answer: pins stay with their words unless the model has changed. If none is left, the
 * most informative row is selected, so that the headline has something to describe.
 */
export function liveLook(before, translation) {
  if (before?.model.name !== translation.model.name) return initialSelection(translation, null);
  const kept = { hoverRow: null, hoverColumn: null, written: null, ...remapPins(before, translation, state) };
  return kept.row === null && kept.column === null ? withInformativeRow(translation, kept) : kept;
}
