// The keys of a view of heads: another head, kind or form, another row or column, and A of a comparison.

import { typing } from '../core/dom.js';
import { rowStill } from '../core/look.js';
import { LET_GO } from '../core/store.js';

/** Keys act on the view that `inUse()` names, and on none while it names none. Returns what ends that. */
export function listenToKeys(inUse) {
  const listen = (event) => {
    const view = inUse();
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || !view?.view) return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = letters(view)[name] ?? (moves(view, event.target) ? arrows(view)[name] : undefined);
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
function moves({ root, element, grid, head }, target) {
  const inHead = head.contains(target) && !target.matches('.scrolls, .numbers');
  return [document.body, root, element].includes(target) || target.matches('.turns') || grid.element.contains(target) || inHead;
}

const arrows = (view) => ({
  ArrowRight: () => view.page(1),
  ArrowLeft: () => view.page(-1),
  ArrowDown: () => view.climb(1),
  ArrowUp: () => view.climb(-1),
});

function letters(view) {
  const { store, source, parts, forms } = view;
  const toggle = (field) => () => {
    const changed = { [field]: !store.state[field] };
    store.set({ ...changed, ...LET_GO, row: rowStill(source.translation, store.state, changed) });
  };
  const pick = (number) => source.kinds[number] && (() => view.chooseKind(source.kinds[number]));
  return {
    1: pick(0),
    2: pick(1),
    3: pick(2),
    p: parts.has('pin') ? () => view.togglePin() : undefined,
    m: forms.length > 1 ? () => view.nextForm() : undefined,
    w: source.merges ? toggle('words') : undefined,
    s: source.merges ? toggle('special') : undefined,
    j: () => view.walk('row', 1),
    k: () => view.walk('row', -1),
    l: () => view.walk('column', 1),
    h: () => view.walk('column', -1),
    Escape: () => view.letGo(),
  };
}
