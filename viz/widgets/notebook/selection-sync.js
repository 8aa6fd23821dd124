// Synchronises the selection with Python: kind, layer, head, row and column. In Python, a layer is its number in the
// model; in the store it is its index in the recording.

import { NO_SELECTION } from '../core/store.js';
import { axes, nearestHead } from '../core/map-view.js';

const SELECTION_FIELDS = ['kind', 'layer', 'head', 'row', 'column'];

/** The number of a layer in its model. A translation has all layers of its model. */
const getLayerNumber = (recording, kind, layer) => recording.recorded?.[kind].layers[layer] ?? layer;

/** The index of a layer by its number in the model; that of the next layer if the recording does not have it. */
function findLayerIndex(recording, kind, number) {
  const numbers = recording.recorded?.[kind].layers;
  if (!numbers || typeof number !== 'number') return number;
  if (numbers.includes(number)) return numbers.indexOf(number);
  const nextIndex = numbers.findIndex((layer) => layer > number);
  return nextIndex < 0 ? numbers.length - 1 : nextIndex;
}

/** The selection as token indices, independent of merged words and hidden special tokens. */
export function getSelection(recording, { kind, layer, head, row, column, words, special }) {
  const items = axes(recording, kind, { words, special });
  const tokenIndex = (axis, index) => (index === null ? null : (items[axis][index]?.places[0] ?? null));
  return { kind, layer: getLayerNumber(recording, kind, layer), head, row: tokenIndex('rows', row), column: tokenIndex('columns', column) };
}

/** Changes of the store for a selection given as token indices. Fields that the recording lacks stay unchanged or become null. */
function parseChanges(recording, state, changes) {
  const selection = { ...getSelection(recording, state), ...changes };
  const kind = recording.kinds?.includes(selection.kind) === false ? state.kind : selection.kind;
  const items = axes(recording, kind, state);
  const itemIndex = (axis, token) => {
    const index = token === null ? -1 : items[axis].findIndex(({ places }) => places.includes(token));
    return index < 0 ? null : index;
  };
  const layer = findLayerIndex(recording, kind, selection.layer);
  return {
    kind,
    ...nearestHead(recording, kind, { ...selection, layer }),
    row: itemIndex('rows', selection.row),
    column: itemIndex('columns', selection.column),
  };
}

/** Initial changes of the store for the selection from Python. Null keeps the current value. */
export function parseSelection(recording, current, selection) {
  const values = Object.fromEntries(Object.entries(selection).filter(([, value]) => value !== null));
  const changes = parseChanges(recording, { ...current, kind: values.kind ?? current.kind }, values);
  return { ...NO_SELECTION, ...changes, ...nearestHead(recording, changes.kind, changes) };
}

/** Sends changes of the selection to Python and applies changes from Python. */
export function syncSelection(store, recording, host) {
  let lastSent = ''; // JSON
  const sendSelection = () => {
    const selection = getSelection(recording, store.state);
    const json = JSON.stringify(selection);
    if (json === lastSent) return;
    lastSent = json;
    host.setSelection(selection);
  };
  store.on([...SELECTION_FIELDS, 'words', 'special'], sendSelection);
  host.onSelectionChange((selection) => {
    if (JSON.stringify(selection) === lastSent) return;
    store.set({ preview: null, hoverRow: null, hoverColumn: null, ...parseChanges(recording, store.state, selection) });
  });
  sendSelection();
}
