// The one state of the page. Widgets read it, change it with `set`, and hear of changes by the names they care about.

/** What one looks at where nobody says otherwise: part of the address. */
export const USUAL = {
  tab: 'heads',
  kind: 'cross',
  layer: 0, // a number, or 'mean'
  head: 'mean', // a number, 'mean' or 'max'
  row: null, // pinned
  column: null,
  pinned: null, // {layer, head}: A of a comparison
  view: 'matrix',
  words: false,
  special: true,
  rescale: false,
  scale: 'linear',
  palette: 'headlight',
  threshold: 0.05, // of lines
  beside: '', // the second of two models; empty: one that reads the same language
  besideHead: null, // {layer, head} of it; null: the one most like the first model's
  besideBeam: null, // null: as wide as the first model's
  besideSame: false, // it reads the first one's translation instead of writing its own
};

export const state = {
  language: 'en',
  theme: 'light',
  answer: null, // what is shown
  busy: false, // a newer one is on its way
  unanswered: null, // a request that the server was gone for
  usuals: {}, // how each model is used where nobody says otherwise, by its name
  fetched: 0, // models that came since the page was opened
  ...USUAL,
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
