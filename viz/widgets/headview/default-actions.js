// Default actions of pointer and keys in a view. The host can override them.

import { NO_SELECTION } from '../core/store.js';

/** @param {import('../core/store.js').Store} store */
export function defaultActions(store) {
  return {
    choose: (head, _event = null) => store.set({ ...head, preview: null }),
    onHover: (row, column) => store.set({ hoverRow: row, hoverColumn: column }),
    onPin: (row, column) => {
      const again = row === store.state.row && column === store.state.column;
      store.set({ ...NO_SELECTION, row: again ? null : row, column: again ? null : column });
    },
    held: () => store.state,
    letGo: () => store.set(NO_SELECTION),
  };
}
