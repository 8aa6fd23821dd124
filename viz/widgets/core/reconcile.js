// Minimal reconciler: unchanged children keep their elements, so that a click survives a redraw between press and
// release, an open menu stays open, and the focus is not lost.

import { transferListeners } from './dom.js';

const PRESERVED_ATTRIBUTE = 'aria-describedby';

/** Like `replace`, but a child with the same tag and contents stays; only its attributes and listeners are updated. */
export function reconcile(element, ...children) {
  const newNodes = children.filter((child) => child != null).map(toNode);
  const oldNodes = [...element.childNodes];
  let firstUnused = 0; // old children before this index are used or skipped, so that reused children never move
  const nodes = newNodes.map((child, number) => {
    const matches = (node, index) => index >= firstUnused && isSameNode(node, child);
    // With an equal count, match by index: a sentence may contain a word twice.
    const oldIndex = oldNodes.length === newNodes.length ? (matches(oldNodes[number], number) ? number : -1) : oldNodes.findIndex(matches);
    if (oldIndex < 0) return child;
    firstUnused = oldIndex + 1;
    return patch(oldNodes[oldIndex], child);
  });
  const reused = new Set(nodes);
  for (const node of oldNodes) if (!reused.has(node)) node.remove();
  for (const [index, child] of nodes.entries()) {
    const current = element.childNodes[index] ?? null;
    if (current !== child) element.insertBefore(child, current);
  }
  return element;
}

const toNode = (child) => (child instanceof Node ? child : document.createTextNode(child));

function isSameNode(oldNode, newNode) {
  if (oldNode === newNode) return true;
  if (oldNode.nodeName !== newNode.nodeName) return false;
  return oldNode instanceof Element ? oldNode.innerHTML === newNode.innerHTML : oldNode.data === newNode.data;
}

/**
 * Copies attributes, form state and listeners from `newNode` to `oldNode`, recursively. `aria-describedby` stays, because
 * other modules set it on elements in the page.
 */
function patch(oldNode, newNode) {
  if (oldNode === newNode || !(oldNode instanceof Element)) return oldNode;
  for (const { name } of [...oldNode.attributes])
    if (name !== PRESERVED_ATTRIBUTE && !newNode.hasAttribute(name)) oldNode.removeAttribute(name);
  for (const { name, value } of newNode.attributes) if (oldNode.getAttribute(name) !== value) oldNode.setAttribute(name, value);
  for (const name of ['value', 'checked', 'disabled'])
    if (name in newNode && oldNode[name] !== newNode[name]) oldNode[name] = newNode[name];
  transferListeners(oldNode, newNode);
  for (const [index, child] of [...oldNode.children].entries()) patch(child, newNode.children[index]);
  return oldNode;
}
