// A small observable store: `set` changes fields and notifies the listeners of these fields.

/**
 * @typedef {{ state: any, set: (changes: any) => void, on: (names: string[], listener: (changed: string[]) => void) => () => void }} Store
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
  const listeners = new Set();
  const owns = (name) => !base || Object.hasOwn(state, name);

  /** Calls `listener` with the changed names after any of these fields has changed. Returns an unsubscribe function. */
  function on(names, listener) {
    const entry = { fields: new Set(names.filter(owns)), listener };
    const unsubscribe = base?.on(
      names.filter((name) => !owns(name)),
      listener,
    );
    listeners.add(entry);
    return () => {
      listeners.delete(entry);
      unsubscribe?.();
    };
  }

  function set(changes) {
    const names = Object.keys(changes);
    const changed = names.filter((name) => owns(name) && state[name] !== changes[name]);
    for (const name of changed) state[name] = changes[name];
    const others = names.filter((name) => !owns(name));
    if (others.length) base?.set(Object.fromEntries(others.map((name) => [name, changes[name]])));
    if (!changed.length) return;
    for (const { fields: subscription, listener } of [...listeners]) {
      if (changed.some((name) => subscription.has(name))) listener(changed);
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
