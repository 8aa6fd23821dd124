// Requests and selections from permalinks, with fallbacks for missing models and options.

import { selectionFor, parsePermalink, clampSelection } from '../core/permalink.js';
import { NO_SELECTION, state } from '../core/state.js';
import { defaultHead } from '../core/default-head.js';
import { findInformativeRow } from '../core/selection.js';
import { remapPins, remapWord } from '../core/pins.js';

const NOTHING_CHOSEN = { ...NO_SELECTION, word: null, rival: null };

/** The full request of a permalink with a sentence or a model; null if it has neither. */
export function requestFromLink(request, defaults, example) {
  const text = request.text ?? example?.text ?? (request.model && state.translation?.request.text);
  if (!text) return null;
  const { model = defaults.model, source_language = '', target_language = '' } = request;
  const fullRequest = {
    prefix: null,
    target: null,
    ...state.modelDefaults[model],
    ...request,
    model,
    source_language,
    target_language,
    text,
  };
  if (fullRequest.temperature > 0) fullRequest.beam_size = 1;
  return fullRequest;
}

/** Whether all values of `expected` are equal in `actual`. */
export function isSameRequest(expected, actual = {}) {
  return Object.keys(expected).every((name) => JSON.stringify(actual[name] ?? null) === JSON.stringify(expected[name] ?? null));
}

/** The default of a request field, or `undefined` if the field already has this value. */
export function fallbackFor(request, field, defaults) {
  const value = { ...defaults, ...state.modelDefaults[request.model] }[field];
  return request[field] === value ? undefined : value;
}

/**
 * The selection for a new translation: from the permalink, or else the current head if it exists, with the most
 * informative row of a new sentence. After a change of model, its default head is selected.
 */
export function initialSelection(translation, linkedSelection) {
  const before = state.translation;
  const first = !before;
  if (before && !linkedSelection && before.model.name !== translation.model.name && translation.tensors.cross) {
    return withInformativeRow(translation, {
      ...NOTHING_CHOSEN,
      pinned: null,
      besideHead: null,
      lastHeads: {},
      kind: 'cross',
      ...defaultHead(translation),
    });
  }
  const linked = first ? parsePermalink() : linkedSelection; // the first translation of the page uses the permalink
  const keepsShape = !before || sameShape(before, translation);
  if (linked) return { ...(keepsShape ? {} : NOTHING_CHOSEN), ...selectionFor(translation, linked) };
  return keepsShape ? clampSelection(translation, state) : withInformativeRow(translation, NOTHING_CHOSEN);
}

/** Add the most informative row to a selection. */
function withInformativeRow(translation, selection) {
  const clamped = { ...selection, ...clampSelection(translation, { ...state, ...selection }) };
  return { ...clamped, row: findInformativeRow(translation, clamped, state) };
}

const ids = (tokens) => tokens.map((token) => token.id).join();
const sameShape = (a, b) => ids(a.source) === ids(b.source) && ids(a.target) === ids(b.target);

/**
 * The selection after a live answer: pins stay with their words unless the model has changed. If none is left, the
 * most informative row is selected, so that the headline can describe it.
 */
export function liveSelection(before, translation) {
  if (before?.model.name !== translation.model.name) return initialSelection(translation, null);
  const pins = { ...remapPins(before, translation, state), ...remapWord(before, translation, state) };
  const selection = { hoverRow: null, hoverColumn: null, written: null, ...pins };
  return selection.row === null && selection.column === null ? withInformativeRow(translation, selection) : selection;
}
