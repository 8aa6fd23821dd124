// Keys of the tab of two models: arrows and letters act on the side in use.

import { KINDS } from '../core/answer.js';
import { typing } from '../core/dom.js';
import { LET_GO, set, state } from '../core/state.js';
import { chooseKind } from '../parts/kinds.js';

export function listenToKeys(tab) {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || !tab.open()) return;
    const inside = event.target === document.body || tab.sides.some((side) => side.element.contains(event.target));
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = letters(tab)[name] ?? (inside ? arrows(tab)[name] : undefined);
    if (!action) return;
    event.preventDefault();
    action();
  });
}

const arrows = (tab) => ({
  ArrowRight: () => tab.page(tab.active, 1),
  ArrowLeft: () => tab.page(tab.active, -1),
  ArrowDown: () => tab.climb(tab.active, 1),
  ArrowUp: () => tab.climb(tab.active, -1),
});

const letters = (tab) => ({
  1: () => chooseKind(KINDS[0]),
  2: () => chooseKind(KINDS[1]),
  3: () => chooseKind(KINDS[2]),
  w: () => set({ words: !state.words, ...LET_GO }),
  j: () => walk(tab, 'row', 1),
  k: () => walk(tab, 'row', -1),
  l: () => walk(tab, 'column', 1),
  h: () => walk(tab, 'column', -1),
  Escape: () => tab.letGo(),
});

/** The pin one row or column on, on the side in use. */
function walk(tab, axis, step) {
  const { view } = tab.sides[tab.active];
  if (!view) return;
  const held = tab.held();
  const from = held?.from === tab.active ? held : { row: null, column: null };
  const place = from[axis] === null ? 0 : Math.max(0, Math.min(view[`${axis}s`].length - 1, from[axis] + step));
  if (place === from[axis]) return;
  const { row, column } = { ...from, [axis]: place };
  tab.pin(tab.active, row, column);
}
