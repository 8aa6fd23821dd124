// The shared state of the page. Widgets read it, change it with `set` and subscribe to fields with `on`.

import { FIELDS } from './fields.js';
import { NO_SELECTION, createStore, sameHead } from './store.js';

/** Default selection; permalinks omit these values. */
/** @type {any} */
export const DEFAULTS = { tab: 'heads', interventions: '', ...Object.fromEntries(FIELDS.selection.map((row) => [row.key, row.default])) };

/**
 * @typedef {import('./translation.js').LayerChoice} LayerChoice
 * @typedef {import('./translation.js').HeadChoice} HeadChoice
 * @typedef {{ layer: LayerChoice, head: HeadChoice }} Head
 *
 * @typedef {object} Selection
 * @property {import('./translation.js').Kind} kind
 * @property {LayerChoice} layer
 * @property {HeadChoice} head
 * @property {number | null} row pinned
 * @property {number | null} column
 * @property {Head | null} pinned
 * @property {number | null} word position of the chosen target token in the encoder, whose rows are source tokens
 * @property {{ place: number, id: number | null } | null} rival of the target token at `place`; `id` null: no rival
 * @property {'matrix' | 'effect' | 'lines' | 'numbers'} view
 * @property {boolean} words whether tokens are merged into words
 * @property {boolean} special whether special tokens are shown
 * @property {string} palette
 * @property {string} scale
 * @property {string} interventions interventions of the What if tab as JSON; empty: none
 *
 * @typedef {object} PageState other fields of the page
 * @property {string} language
 * @property {string} theme
 * @property {string} review text of the Sentiment tab; empty: its first example
 * @property {string} classifier model of the Sentiment tab; empty: the first
 * @property {import('./translation.js').Translation | null} translation
 * @property {Head | null} preview
 * @property {number | null} hoverRow
 * @property {number | null} hoverColumn
 *
 * @typedef {Selection & PageState & Record<string, any>} State
 */

/** The page's store, the base of the views' stores. */
export const pageStore = createStore({
  language: 'en',
  theme: 'light',
  translation: null, // the displayed translation
  busy: false, // a newer translation is pending
  still: false, // live translation: the view keeps its layout during typing
  unanswered: null, // a request that failed because the server was lost
  modelDefaults: {}, // default options by model name
  beamer: false, // presentation mode of saved views
  savedViews: 0, // number of views in localStorage
  fetched: 0, // number of models downloaded since the page was opened
  hubAway: '', // the Hub's host name if the server cannot reach it
  ...Object.fromEntries(FIELDS.judged.map((row) => [row.key, row.default])),
  ...DEFAULTS,
  fit: true,
  lastHeads: {}, // last selected head by kind
  // Hover state, cleared when the pointer leaves.
  preview: null, // {layer, head}
  hoverRow: null,
  hoverColumn: null,
});

/** Current values of the page's fields. */
/** @type {State} */
export const state = pageStore.state;

/** Sets fields and notifies their listeners. */
export const set = pageStore.set;

/** Calls a listener after any of these fields has changed. */
export const on = pageStore.on;

export { NO_SELECTION, sameHead };
