// Minimal reconciler: unchanged children keep their elements, so that a click survives a redraw between press and
// release, an open menu stays open, and the focus is not lost.

import { transferListeners } from './dom.js';

const PRESERVED_ATTRIBUTE = 'aria-describedby';

/** Like `replace`, but a child with the same tag and contents stays; only its attributes and listeners are updated. */
export function reconcile(element, ...children) {
  const fresh = children.filter((child) => child != null).map(toNode);
  const old = [...element.childNodes];
  let first = 0; // old children before this index are used or skipped, so that reused children never move
  const nodes = fresh.map((child, number) => {
    const matches = (item, position) => position >= first && isSameNode(item, child);
    // With an equal count, match by index: a sentence may contain a word twice.
    const place = old.length === fresh.length ? (matches(old[number], number) ? number : -1) : old.findIndex(matches);
    if (place < 0) return child;
    first = place + 1;
    return patch(old[place], child);
  });
  const reused = new Set(nodes);
  for (const node of old) if (!reused.has(node)) node.remove();
  for (const [index, child] of nodes.entries()) {
    const current = element.childNodes[index] ?? null;
    if (current !== child) element.insertBefore(child, current);
  }
  return element;
}

const toNode = (child) => (child instanceof Node ? child : document.createTextNode(child));

function isSameNode(old, fresh) {
  if (old === fresh) return true;
  if (old.nodeName !== fresh.nodeName) return false;
  return old instanceof Element ? old.innerHTML === fresh.innerHTML : old.data === fresh.data;
}

/**
 * Copies attributes, form state and listeners from `fresh` to `old`, recursively. `aria-describedby` stays, because
 * other modules set it on elements in the page.
 */
function patch(old, fresh) {
  if (old === fresh || !(old instanceof Element)) return old;
  for (const { name } of [...old.attributes]) if (name !== PRESERVED_ATTRIBUTE && !fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const name of ['value', 'checked', 'disabled']) if (name in fresh && old[name] !== fresh[name]) old[name] = fresh[name];
  transferListeners(old, fresh);
  for (const [index, child] of [...old.children].entries()) patch(child, fresh.children[index]);
  return old;
}
