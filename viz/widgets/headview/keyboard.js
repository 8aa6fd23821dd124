// Keyboard shortcuts of a head view: head, kind, view mode, row, column and comparison.

import { isTextField } from '../core/dom.js';
import { remapRow } from '../core/selection.js';
import { NO_SELECTION } from '../core/store.js';

/** Handles keys for the view that `getActiveView()` returns, if any. Returns a function that unsubscribes. */
export function mountKeyboard(getActiveView) {
  const listen = (event) => {
    const view = getActiveView();
    if (event.ctrlKey || event.metaKey || event.altKey || isTextField(event.target) || !view?.view) return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = makeLetterHandlers(view)[name] ?? (handleArrows(view, event.target) ? makeArrowHandlers(view)[name] : undefined);
    if (!action) return;
    const inWall = view.grid.element.contains(event.target);
    if (name !== 'Escape') event.preventDefault();
    action();
    if (inWall && name !== 'Escape') view.grid.focus();
  };
  document.addEventListener('keydown', listen);
  return () => document.removeEventListener('keydown', listen);
}

/** Arrow keys step through heads unless the focused element uses them. */
function handleArrows({ root, element, grid, head }, target) {
  const inHead = head.contains(target) && !target.matches('.scrolls, .numbers');
  return [document.body, root, element].includes(target) || target.matches('.turns') || grid.element.contains(target) || inHead;
}

const makeArrowHandlers = (view) => ({
  ArrowRight: () => view.moveHead(1),
  ArrowLeft: () => view.moveHead(-1),
  ArrowDown: () => view.moveLayer(1),
  ArrowUp: () => view.moveLayer(-1),
});

function makeLetterHandlers(view) {
  const { store, source, parts, viewModes } = view;
  const toggle = (field) => () => {
    const changes = { [field]: !store.state[field] };
    store.set({ ...changes, ...NO_SELECTION, row: remapRow(source.translation, store.state, changes) });
  };
  const pick = (number) => source.kinds[number] && (() => view.chooseKind(source.kinds[number]));
  return {
    1: pick(0),
    2: pick(1),
    3: pick(2),
    p: parts.has('pin') ? () => view.togglePin() : undefined,
    m: viewModes.length > 1 ? () => view.nextViewMode() : undefined,
    w: source.merges ? toggle('words') : undefined,
    s: source.merges ? toggle('special') : undefined,
    j: () => view.movePin('row', 1),
    k: () => view.movePin('row', -1),
    l: () => view.movePin('column', 1),
    h: () => view.movePin('column', -1),
    Escape: () => view.clearPins(),
  };
}
