// The one state of the page. Widgets read it, change it with `set`, and hear of changes by the names they care about.

import { FIELDS } from './fields.js';
import { NO_SELECTION, createStore, sameHead } from './store.js';

/** What one looks at by default, also what an address leaves out. */
/** @type {any} */
export const DEFAULTS = { tab: 'heads', interventions: '', ...Object.fromEntries(FIELDS.selection.map((row) => [row.key, row.default])) };

/**
 * @typedef {import('./translation.js').LayerPlace} LayerPlace
 * @typedef {import('./translation.js').HeadPlace} HeadPlace
 * @typedef {{ layer: LayerPlace, head: HeadPlace }} Head
 *
 * @typedef {object} Selection what one looks at
 * @property {import('./translation.js').Kind} kind
 * @property {LayerPlace} layer
 * @property {HeadPlace} head
 * @property {number | null} row pinned
 * @property {number | null} column
 * @property {Head | null} pinned
 * @property {'matrix' | 'lines' | 'numbers'} view
 * @property {boolean} words whole words instead of tokens
 * @property {boolean} special with special tokens
 * @property {string} palette
 * @property {string} scale
 * @property {string} interventions the changes of What if, as JSON; empty: none
 *
 * @typedef {object} Here further state of the page
 * @property {string} language
 * @property {string} theme
 * @property {string} review the text that Sentiment judges; empty: its first example
 * @property {string} classifier the model that judges it; empty: the first
 * @property {import('./translation.js').Translation | null} translation
 * @property {Head | null} preview
 * @property {number | null} hoverRow
 * @property {number | null} hoverColumn
 *
 * @typedef {Selection & Here & Record<string, any>} State
 */

/** The page's own store; any number of others may stand on it. */
export const pageStore = createStore({
  language: 'en',
  theme: 'light',
  translation: null, // what is shown
  busy: false, // a newer one is pending
  still: false, // live mode: the view keeps its layout while the sentence is typed
  unanswered: null, // a request that the server was gone for
  modelDefaults: {}, // the default options of each model, by its name
  beamer: false, // saved views are shown to a class
  savedViews: 0, // how many this browser keeps
  fetched: 0, // models that came since the page was opened
  hubAway: '', // the name of the Hub, where the server cannot reach it
  ...Object.fromEntries(FIELDS.judged.map((row) => [row.key, row.default])),
  ...DEFAULTS,
  fit: true,
  lastHeads: {}, // by kind, the head that was looked at last
  // Hover state, cleared when the pointer leaves.
  preview: null, // {layer, head}
  hoverRow: null,
  hoverColumn: null,
});

/** Current values of the page's fields. */
/** @type {State} */
export const state = pageStore.state;

/** Set fields and notify their listeners. */
export const set = pageStore.set;

/** Call a listener after any of these fields has changed. */
export const on = pageStore.on;

export { NO_SELECTION, sameHead };
