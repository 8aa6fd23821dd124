// What one looks at, shared with Python: kind, layer, head, and tokens as row and column, whatever is merged or hidden here.

import { NO_SELECTION } from '../core/store.js';
import { axes, nearestHead } from '../core/map-view.js';

const LOOK = ['kind', 'layer', 'head', 'row', 'column'];

/** What one looks at, as other programs name it: rows and columns are tokens, whatever is merged or hidden on the page. */
function selectionOf(recording, { kind, layer, head, row, column, words, special }) {
  const items = axes(recording, kind, { words, special });
  const token = (axis, place) => (place === null ? null : (items[axis][place]?.places[0] ?? null));
  return { kind, layer, head, row: token('rows', row), column: token('columns', column) };
}

/** The same back: what there is of it in this recording. */
function storeChanges(recording, state, wanted) {
  const look = { ...selectionOf(recording, state), ...wanted };
  const kind = recording.kinds?.includes(look.kind) === false ? state.kind : look.kind;
  const items = axes(recording, kind, state);
  const item = (axis, token) => {
    const place = token === null ? -1 : items[axis].findIndex(({ places }) => places.includes(token));
    return place < 0 ? null : place;
  };
  return { kind, ...nearestHead(recording, kind, look), row: item('rows', look.row), column: item('columns', look.column) };
}

/** The selection from Python, if it is valid for this recording. */
export function parseSelection(recording, look, asked) {
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null));
  const changes = storeChanges(recording, { ...look, kind: given.kind ?? look.kind }, given);
  return { ...NO_SELECTION, ...changes, ...nearestHead(recording, changes.kind, changes) };
}

/** What one looks at goes to Python, and comes from there. */
export function syncSelection(store, recording, host) {
  let told = '';
  const tell = () => {
    const look = selectionOf(recording, store.state);
    const text = JSON.stringify(look);
    if (text === told) return;
    told = text;
    host.tell(look);
  };
  store.on([...LOOK, 'words', 'special'], tell);
  host.hear((asked) => {
    if (JSON.stringify(asked) === told) return;
    store.set({ preview: null, hoverRow: null, hoverColumn: null, ...storeChanges(recording, store.state, asked) });
  });
  tell();
}
