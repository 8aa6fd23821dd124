// Synchronises the selection with Python: kind, layer, head, row and column. In Python, a layer is its number in the
// model; in the store it is its index in the recording.

import { NO_SELECTION } from '../core/store.js';
import { axes, nearestHead } from '../core/map-view.js';

const SELECTION_FIELDS = ['kind', 'layer', 'head', 'row', 'column'];

/** The number of a layer in its model. A translation has all layers of its model. */
const layerNumber = (recording, kind, layer) => recording.recorded?.[kind].layers[layer] ?? layer;

/** The index of a layer by its number in the model; that of the next layer if the recording does not have it. */
function layerIndex(recording, kind, number) {
  const numbers = recording.recorded?.[kind].layers;
  if (!numbers || typeof number !== 'number') return number;
  if (numbers.includes(number)) return numbers.indexOf(number);
  const next = numbers.findIndex((other) => other > number);
  return next < 0 ? numbers.length - 1 : next;
}

/** The selection as token indices, independent of merged words and hidden special tokens. */
export function getSelection(recording, { kind, layer, head, row, column, words, special }) {
  const items = axes(recording, kind, { words, special });
  const token = (axis, index) => (index === null ? null : (items[axis][index]?.places[0] ?? null));
  return { kind, layer: layerNumber(recording, kind, layer), head, row: token('rows', row), column: token('columns', column) };
}

/** Changes of the store for a selection given as token indices. Fields that the recording lacks stay unchanged or become null. */
function storeChanges(recording, state, changes) {
  const selection = { ...getSelection(recording, state), ...changes };
  const kind = recording.kinds?.includes(selection.kind) === false ? state.kind : selection.kind;
  const items = axes(recording, kind, state);
  const item = (axis, token) => {
    const index = token === null ? -1 : items[axis].findIndex(({ places }) => places.includes(token));
    return index < 0 ? null : index;
  };
  const layer = layerIndex(recording, kind, selection.layer);
  return {
    kind,
    ...nearestHead(recording, kind, { ...selection, layer }),
    row: item('rows', selection.row),
    column: item('columns', selection.column),
  };
}

/** Initial changes of the store for the selection from Python. Null keeps the current value. */
export function parseSelection(recording, current, selection) {
  const values = Object.fromEntries(Object.entries(selection).filter(([, value]) => value !== null));
  const changes = storeChanges(recording, { ...current, kind: values.kind ?? current.kind }, values);
  return { ...NO_SELECTION, ...changes, ...nearestHead(recording, changes.kind, changes) };
}

/** Sends changes of the selection to Python and applies changes from Python. */
export function syncSelection(store, recording, host) {
  let lastSent = '';
  const sendSelection = () => {
    const selection = getSelection(recording, store.state);
    const text = JSON.stringify(selection);
    if (text === lastSent) return;
    lastSent = text;
    host.setSelection(selection);
  };
  store.on([...SELECTION_FIELDS, 'words', 'special'], sendSelection);
  host.onSelectionChange((selection) => {
    if (JSON.stringify(selection) === lastSent) return;
    store.set({ preview: null, hoverRow: null, hoverColumn: null, ...storeChanges(recording, store.state, selection) });
  });
  sendSelection();
}
