// Synchronises the selection with Python: kind, layer, head, row and column.

import { NO_SELECTION } from '../core/store.js';
import { axes, nearestHead } from '../core/map-view.js';

const LOOK = ['kind', 'layer', 'head', 'row', 'column'];

/** The selection in token indices, independent of merged words and hidden special tokens. */
function selectionOf(recording, { kind, layer, head, row, column, words, special }) {
  const items = axes(recording, kind, { words, special });
  const token = (axis, place) => (place === null ? null : (items[axis][place]?.places[0] ?? null));
  return { kind, layer, head, row: token('rows', row), column: token('columns', column) };
}

/** Store changes for a selection in token indices. Parts that this recording does not have stay or become null. */
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

/** Initial store changes for the selection from Python; its nulls keep the current values. */
export function parseSelection(recording, look, asked) {
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null));
  const changes = storeChanges(recording, { ...look, kind: given.kind ?? look.kind }, given);
  return { ...NO_SELECTION, ...changes, ...nearestHead(recording, changes.kind, changes) };
}

/** Sends selection changes to Python and applies those from Python. */
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
