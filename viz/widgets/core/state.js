// The one state of the page. Widgets read it, change it with `set`, and hear of changes by the names they care about.

import { FIELDS } from './fields.js';

/** What one looks at by default, also what an address leaves out. */
export const DEFAULTS = { tab: 'heads', ...Object.fromEntries(FIELDS.selection.map((row) => [row.key, row.default])) };

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
