// Permalinks: sentence, model, options and selection. Only non-default values are included.

import { KINDS } from './translation.js';
import { FIELDS, CLASSIFIER_TAB } from './fields.js';
import { isSupported } from './languages.js';
import { DEFAULTS, on, state } from './state.js';
import { defaultHead } from './default-head.js';
import { findInformativeRow } from './selection.js';
import { axes } from './map-view.js';

const inRange = (number, { low = 0, high }) => (number >= low && number <= high ? number : undefined);
const parseInteger = (text, row) => (/^\d+$/.test(text) ? inRange(Number(text), row) : undefined);
const parseIndex = (text, row) => (row.merged.includes(text) ? text : parseInteger(text ?? '', row));

/** Parsers by field kind; undefined for invalid text. */
const PARSERS = {
  text: (text, { longest }) => (text && text.length <= longest ? text : undefined),
  choice: (text, { choices }) => (choices.includes(text) ? text : undefined),
  switch: (text) => (text === '0' || text === '1' ? text === '1' : undefined),
  whole: parseInteger,
  real: (text, row) => inRange(Number(text), row),
  place: parseIndex,
  head(text, row) {
    const [layer, head, ...excess] = text.split('.');
    const value = { layer: parseIndex(layer, row.layer), head: parseIndex(head, row.head) };
    return value.layer === undefined || value.head === undefined || excess.length ? undefined : value;
  },
  rival(text, row) {
    const [, place, id] = /^(\d+)\.(\d+|none)$/.exec(text) ?? [];
    const value = { place: parseInteger(place ?? '', row), id: id === 'none' ? null : Number(id) };
    return value.place === undefined ? undefined : value;
  },
};
/** The server validates request values, so numbers are only parsed here. */
const REQUEST_PARSERS = {
  ...PARSERS,
  text: (text) => text || undefined,
  words: (text) => text || undefined,
  whole: parseNumber,
  real: parseNumber,
};
const FORMATTERS = {
  switch: Number,
  head: ({ layer, head }) => `${layer}.${head}`,
  rival: ({ place, id }) => `${place}.${id ?? 'none'}`,
};
const format = ({ kind }, value) => (FORMATTERS[kind] ? FORMATTERS[kind](value) : value);

function parseNumber(text) {
  return text && Number.isFinite(Number(text)) ? Number(text) : undefined;
}

/** Token ids, for a prefix or a hypothesis of the search. */
const parseIds = (text) => (/^\d+(\.\d+)*$/.test(text ?? '') ? text.split('.').map(Number) : undefined);

const FIELD_CHECKS = {
  kind: (value) => KINDS.includes(value),
  side: (value) => ['encoder', 'decoder'].includes(value),
  part: (value) => ['feed_forward', 'residual'].includes(value),
  amount: Number.isFinite,
  text: (value) => typeof value === 'string',
  ...Object.fromEntries(['start', 'layer', 'head', 'row', 'column', 'from_layer', 'from_head'].map((name) => [name, Number.isInteger])),
};
/** Fields that an intervention's chip needs, by action. */
const REQUIRED_FIELDS = {
  ...Object.fromEntries(['remove', 'uniform', 'scale', 'temperature', 'previous', 'next', 'same'].map((name) => [name, ['kind']])),
  drag: ['kind', 'layer', 'head', 'row', 'column', 'amount'],
  copy: ['kind', 'layer', 'head', 'from_layer', 'from_head'],
  borrow: ['kind', 'layer', 'text'],
  zero: ['side', 'layer', 'part'],
  no_positions: ['side'],
  shuffle: ['side'],
  shift: ['side'],
  mask: ['start'],
  erase: ['start'],
  swap: ['start'],
};

/** Returns the JSON text if each intervention has the fields that its chip needs, else undefined. The server validates the values. */
function parseInterventions(text) {
  try {
    const interventions = JSON.parse(text);
    return interventions.every((intervention) =>
      REQUIRED_FIELDS[intervention.action].every((name) => FIELD_CHECKS[name](intervention[name])),
    )
      ? text
      : undefined;
  } catch {
    return undefined;
  }
}

/** Parses the permalink; invalid parts are ignored. */
export function parsePermalink(hash = location.hash) {
  const values = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  /** @type {Record<string, any>} */
  const selection = { request: {} };
  const assign = (target, name, value) => {
    if (value !== undefined) target[name] = value;
  };
  for (const row of FIELDS.request) {
    if (row.in_link && row.name in values) assign(selection.request, row.name, REQUEST_PARSERS[row.kind](values[row.name], row));
    if (row.ids) assign(selection.request, row.name, parseIds(values[`${row.name}_ids`]));
  }
  for (const row of FIELDS.selection) if (row.name in values) assign(selection, row.key, PARSERS[row.kind](values[row.name], row));
  if (/^[a-z]+$/.test(values.tab ?? '')) selection.tab = values.tab;
  // The classifier's tab validates its fields.
  if (selection.tab === CLASSIFIER_TAB) for (const row of FIELDS.judged) selection[row.key] = values[row.name] ?? row.default;
  assign(selection, 'interventions', parseInterventions(values.interventions));
  if (isSupported(values.language)) selection.language = values.language;
  return selection;
}

/** Clamps the selection to this translation; invalid rows and columns become null. */
export function clampSelection(translation, selection) {
  const clampIndex = (number, count) => (typeof number === 'number' && number >= count ? count - 1 : number);
  const kind = translation.tensors[selection.kind] ? selection.kind : KINDS.find((candidate) => translation.tensors[candidate]);
  const [layers, heads] = [translation.layers(kind), translation.heads(kind)];
  const { rows, columns } = axes(translation, kind, selection); // merging words makes axes shorter
  const indexOrNull = (number, count) => (typeof number === 'number' && number < count ? number : null);
  return {
    kind,
    layer: clampIndex(selection.layer, layers),
    head: clampIndex(selection.head, heads),
    pinned: selection.pinned && { layer: clampIndex(selection.pinned.layer, layers), head: clampIndex(selection.pinned.head, heads) },
    row: indexOrNull(selection.row, rows.length),
    column: indexOrNull(selection.column, columns.length),
    written: indexOrNull(selection.written, translation.target.length),
    word: indexOrNull(selection.word, translation.target.length),
    rival: selection.rival && selection.rival.place < translation.target.length ? selection.rival : null,
  };
}

/** The selection of a permalink. Missing values are the defaults, or the most informative head and row. */
export function chooseSelection(translation, { request, language, tab, ...linked }) {
  const best = translation.tensors.cross && defaultHead(translation);
  const hasNoHead = ['kind', 'layer', 'head'].every((name) => linked[name] === undefined);
  const { tab: _, ...defaults } = DEFAULTS; // the tab does not depend on the translation
  const requested = { ...defaults, ...(best && hasNoHead ? { kind: 'cross', ...best } : {}), ...linked };
  const selection = { ...requested, ...clampSelection(translation, requested) };
  const isChosen = [selection.row, selection.column, selection.pinned].some((index) => index !== null);
  return hasNoHead && !isChosen ? { ...selection, row: findInformativeRow(translation, selection, selection) } : selection;
}

const DELAY_MS = 120;
const LIVE_DELAY_MS = 700; // during typing; browsers limit the rate of `replaceState`

const hasValue = (value) => value !== undefined && value !== null;

/** Permalink of the current state, or of the request that failed. */
export function formatPermalink() {
  const values = new URLSearchParams();
  // Saved pages have no default request.
  const request = state.defaultRequest && (state.unanswered ?? state.translation?.requestValues());
  if (request) {
    const defaults = { ...state.defaultRequest, ...state.modelDefaults[request.model] };
    for (const row of FIELDS.request) {
      const value = request[row.name];
      if (row.ids && Array.isArray(value)) values.set(`${row.name}_ids`, value.join('.'));
      else if (row.in_link && hasValue(value) && (row.always_in_link || value !== defaults[row.name]))
        values.set(row.name, format(row, value));
    }
  }
  if (state.tab !== DEFAULTS.tab) values.set('tab', state.tab);
  if (state.interventions) values.set('interventions', state.interventions);
  for (const row of FIELDS.selection) {
    const value = state[row.key];
    if (row.always_in_link || value !== row.default) values.set(row.name, format(row, value));
  }
  if (state.tab === CLASSIFIER_TAB) for (const row of FIELDS.judged) if (state[row.key]) values.set(row.name, state[row.key]);
  if (state.chosenLanguage) values.set('language', state.chosenLanguage);
  return `#${values}`;
}

/** Keeps the URL up to date, including that of an embedding page. Each translation and each tab adds a history entry. */
export function syncAddress() {
  let timer = 0;
  /** @type {string | null} */
  let entryRequest = null; // request of this history entry; null: the next translation belongs to this entry
  /** @type {string | null} */
  let entryTab = null;
  let isLive = false; // this entry's translation is live, so the next one replaces it
  let knownHash = location.hash;
  const update = () => {
    clearTimeout(timer);
    const delay = state.translation?.live ? LIVE_DELAY_MS : DELAY_MS;
    timer = setTimeout(() => {
      if (state.busy || !state.translation) return; // the URL already has the pending request
      if (location.hash !== knownHash) return; // do not overwrite a history entry opened meanwhile
      const request = JSON.stringify(state.unanswered ?? state.translation.requestValues());
      const isNewRequest = entryRequest !== null && request !== entryRequest && !isLive;
      const isNewEntry = isNewRequest || (entryTab !== null && state.tab !== entryTab);
      entryTab = state.tab;
      if (request !== entryRequest) isLive = Boolean(state.translation.live) && !state.unanswered;
      entryRequest = request;
      const hash = formatPermalink();
      if (hash === location.hash) return;
      history[isNewEntry ? 'pushState' : 'replaceState'](history.state, '', hash);
      knownHash = location.hash;
      if (window.parent !== window) window.parent.postMessage({ queryString: '', hash }, '*');
    }, delay);
  };
  on(['translation', 'busy', 'chosenLanguage', ...FIELDS.judged.map(({ key }) => key), ...Object.keys(DEFAULTS)], update);
  addEventListener('hashchange', () => {
    entryRequest = entryTab = null;
    knownHash = location.hash;
    update();
  });
}
