// A small observable store: `set` changes fields and notifies the listeners of these fields.

/**
 * @typedef {{ state: any, set: (changes: any) => void, on: (names: string[], listener: (changedNames: string[]) => void) => () => void }} Store
 */

/**
 * Creates a store with these fields. With a `base`, all other fields are read, set and observed in the base store, so
 * that two views can share display options and have separate heads.
 *
 * @param {any} fields
 * @param {Store | null} base
 * @returns {Store}
 */
export function createStore(fields, base = null) {
  const state = Object.assign(base ? Object.create(base.state) : {}, fields);
  const subscriptions = new Set();
  const owns = (name) => !base || Object.hasOwn(state, name);

  /** Calls `listener` with the changed names after any of these fields has changed. Returns an unsubscribe function. */
  function on(names, listener) {
    const subscription = { names: new Set(names.filter(owns)), listener };
    const unsubscribe = base?.on(
      names.filter((name) => !owns(name)),
      listener,
    );
    subscriptions.add(subscription);
    return () => {
      subscriptions.delete(subscription);
      unsubscribe?.();
    };
  }

  function set(changes) {
    const names = Object.keys(changes);
    const changedNames = names.filter((name) => owns(name) && state[name] !== changes[name]);
    for (const name of changedNames) state[name] = changes[name];
    const baseNames = names.filter((name) => !owns(name));
    if (baseNames.length) base?.set(Object.fromEntries(baseNames.map((name) => [name, changes[name]])));
    if (!changedNames.length) return;
    for (const { names: observedNames, listener } of [...subscriptions]) {
      if (changedNames.some((name) => observedNames.has(name))) listener(changedNames);
    }
  }

  return { state, set, on };
}

/** Selection state of a view: head, hover and pins. Display options are not part of it. */
export const VIEW_STATE = {
  kind: 'cross',
  layer: 0, // a number, or 'mean'
  head: 'mean', // a number, 'mean' or 'max'
  preview: null, // {layer, head}: the hovered head
  pinned: null, // {layer, head}: A of a comparison
  row: null,
  column: null,
  hoverRow: null,
  hoverColumn: null,
};

/** Clears hover and pins. */
export const NO_SELECTION = { row: null, column: null, hoverRow: null, hoverColumn: null };

export const sameHead = (a, b) => Boolean(a && b && a.layer === b.layer && a.head === b.head);

/** The displayed head: the previewed one, else the selected one. */
export const shownHead = ({ preview, layer, head }) => preview ?? { layer, head };

/** Whether the view compares two heads. */
export const isComparing = (state) => Boolean(state.pinned) && !sameHead(state.pinned, shownHead(state));
