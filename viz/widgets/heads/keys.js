// The keys of the Heads tab, and what its buttons do as well: another head, and A of a comparison.

import { KINDS } from '../core/answer.js';
import { typing } from '../core/dom.js';
import { LET_GO, set, state } from '../core/state.js';
import { climbLayer, pageHead } from '../parts/headgrid.js';
import { chooseKind } from '../parts/kinds.js';
import { VIEWS } from './maps.js';

/** `root` is the tab, `wall` mounted in it, `head` what is large; `viewOf()`: the head on show, if there is one. */
export function listenToKeys({ root, wall, head, viewOf }) {
  document.addEventListener('keydown', (event) => {
    const view = viewOf();
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || state.tab !== 'heads' || !view) return;
    if (event.key === 'Escape') {
      letGo();
      return;
    }
    const inWall = wall.grid.contains(event.target);
    const inHead = head.contains(event.target) && !event.target.matches('.scrolls');
    const moves = inWall || event.target === document.body || inHead || event.target === root;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = letters(view)[name] ?? (moves ? ARROWS[name] : undefined);
    if (!action) return;
    event.preventDefault();
    action();
    if (inWall) wall.focus();
  });
}

/** The head so many steps on. */
export function page(step) {
  const { answer, kind } = state;
  set({ ...pageHead(state, step, answer.heads(kind), answer.layers(kind)), preview: null });
}

/** The chosen head becomes A of a comparison, or A is no more. */
export function togglePin() {
  set({ pinned: state.pinned ? null : { layer: state.layer, head: state.head } });
}

function climb(step) {
  set({ layer: climbLayer(state.layer, step, state.answer.layers(state.kind)), preview: null });
}

/** First the row and column, then the comparison. */
function letGo() {
  if (state.row !== null || state.column !== null) set(LET_GO);
  else if (state.pinned) set({ pinned: null });
}

const ARROWS = { ArrowRight: () => page(1), ArrowLeft: () => page(-1), ArrowDown: () => climb(1), ArrowUp: () => climb(-1) };

const within = (place, count, step) => (place === null ? 0 : Math.max(0, Math.min(count - 1, place + step)));

const letters = ({ rows, columns }) => ({
  1: () => chooseKind(KINDS[0]),
  2: () => chooseKind(KINDS[1]),
  3: () => chooseKind(KINDS[2]),
  p: () => togglePin(),
  m: () => set({ view: VIEWS[(VIEWS.indexOf(state.view) + 1) % VIEWS.length] }),
  w: () => set({ words: !state.words, ...LET_GO }),
  s: () => set({ special: !state.special, ...LET_GO }),
  j: () => set({ row: within(state.row, rows.length, 1) }),
  k: () => set({ row: within(state.row, rows.length, -1) }),
  l: () => set({ column: within(state.column, columns.length, 1) }),
  h: () => set({ column: within(state.column, columns.length, -1) }),
});
