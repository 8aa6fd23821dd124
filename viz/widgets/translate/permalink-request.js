// Requests and selections from permalinks, with fallbacks for missing models and options.

import { chooseSelection, parsePermalink, clampSelection } from '../core/permalink.js';
import { NO_SELECTION, state } from '../core/state.js';
import { defaultHead } from '../core/default-head.js';
import { findInformativeRow } from '../core/selection.js';
import { remapPins, remapWord } from '../core/pins.js';

const EMPTY_SELECTION = { ...NO_SELECTION, word: null, rival: null };

/** The full request of a permalink with a sentence or a model; null if it has neither. */
export function makeLinkRequest(request, defaults, example) {
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
export function getFallback(request, field, defaults) {
  const value = { ...defaults, ...state.modelDefaults[request.model] }[field];
  return request[field] === value ? undefined : value;
}

/**
 * The selection for a new translation: from the permalink, or else the current head if it exists, with the most
 * informative row of a new sentence. After a change of model, its default head is selected.
 */
export function chooseInitialSelection(translation, linkedSelection) {
  const previous = state.translation;
  const isFirst = !previous;
  if (previous && !linkedSelection && previous.model.name !== translation.model.name && translation.tensors.cross) {
    return addInformativeRow(translation, {
      ...EMPTY_SELECTION,
      pinned: null,
      besideHead: null,
      lastHeads: {},
      kind: 'cross',
      ...defaultHead(translation),
    });
  }
  const link = isFirst ? parsePermalink() : linkedSelection; // the first translation of the page uses the permalink
  const keepsTokens = !previous || hasSameTokens(previous, translation);
  if (link) return { ...(keepsTokens ? {} : EMPTY_SELECTION), ...chooseSelection(translation, link) };
  return keepsTokens ? clampSelection(translation, state) : addInformativeRow(translation, EMPTY_SELECTION);
}

/** Add the most informative row to a selection. */
function addInformativeRow(translation, selection) {
  const clamped = { ...selection, ...clampSelection(translation, { ...state, ...selection }) };
  return { ...clamped, row: findInformativeRow(translation, clamped, state) };
}

const joinIds = (tokens) => tokens.map((token) => token.id).join();
const hasSameTokens = (a, b) => joinIds(a.source) === joinIds(b.source) && joinIds(a.target) === joinIds(b.target);

/**
 * The selection after a live answer: pins stay with their words unless the model has changed. If none is left, the
 * most informative row is selected, so that the headline can describe it.
 */
export function chooseLiveSelection(previous, translation) {
  if (previous?.model.name !== translation.model.name) return chooseInitialSelection(translation, null);
  const pins = { ...remapPins(previous, translation, state), ...remapWord(previous, translation, state) };
  const selection = { hoverRow: null, hoverColumn: null, written: null, ...pins };
  return selection.row === null && selection.column === null ? addInformativeRow(translation, selection) : selection;
}
