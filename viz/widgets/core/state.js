// The one state of the page. Widgets read it, change it with `set`, and hear of changes by the names they care about.

import { FIELDS } from './fields.js';

/** What one looks at by default, also what an address leaves out. */
/** @type {any} */
export const DEFAULTS = { tab: 'heads', ...Object.fromEntries(FIELDS.selection.map((row) => [row.key, row.default])) };

/**
 * @typedef {import('./answer.js').LayerPlace} LayerPlace
 * @typedef {import('./answer.js').HeadPlace} HeadPlace
 * @typedef {{ layer: LayerPlace, head: HeadPlace }} Head
 *
 * @typedef {object} Selection what one looks at
 * @property {import('./answer.js').Kind} kind
 * @property {LayerPlace} layer
 * @property {HeadPlace} head
 * @property {number | null} row pinned
 * @property {number | null} column
 * @property {Head | null} pinned
 * @property {'matrix' | 'lines' | 'numbers'} view
 * @property {boolean} words whole words instead of tokens
 * @property {boolean} special with special tokens
 *
 * @typedef {object} Here what the page knows beside that
 * @property {string} language
 * @property {string} theme
 * @property {import('./answer.js').Answer | null} answer
 * @property {Head | null} preview
 * @property {number | null} hoverRow
 * @property {number | null} hoverColumn
 *
 * @typedef {Selection & Here & Record<string, any>} State
 */

/** @type {State} */
export const state = {
  language: 'en',
  theme: 'light',
  answer: null, // what is shown
  busy: false, // a newer one is on its way
  unanswered: null, // a request that the server was gone for
  usuals: {}, // how each model is used where nobody says otherwise, by its name
  fetched: 0, // models that came since the page was opened
  ...DEFAULTS,
  fit: true,
  // What the pointer is on: gone when it leaves.
  preview: null, // {layer, head}
  hoverRow: null,
  hoverColumn: null,
};

const listeners = [];

/** Call `listener` after any of these fields has changed. */
export function on(fields, listener) {
  listeners.push({ fields: new Set(fields), listener });
}

export function set(changes) {
  const changed = Object.keys(changes).filter((name) => state[name] !== changes[name]);
  if (!changed.length) return;
  Object.assign(state, changes);
  for (const { fields, listener } of listeners) {
    if (changed.some((name) => fields.has(name))) listener(changed);
  }
}

/** Nothing pointed at, nothing pinned. */
export const LET_GO = { row: null, column: null, hoverRow: null, hoverColumn: null };

/** The head on show: the one pointed at, else the chosen one. */
export const shown = () => state.preview ?? { layer: state.layer, head: state.head };

export const same = (one, other) => Boolean(one && other && one.layer === other.layer && one.head === other.head);

/** Whether two heads stand side by side. */
export const comparing = () => Boolean(state.pinned) && !same(state.pinned, shown());
