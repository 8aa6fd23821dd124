// Default actions of pointer and keys in a view. The host can override them.

import { NO_SELECTION } from '../core/store.js';

/** @param {import('../core/store.js').Store} store */
export function createDefaultActions(store) {
  return {
    choose: (head, _event = null) => store.set({ ...head, preview: null }),
    onHover: (row, column) => store.set({ hoverRow: row, hoverColumn: column }),
    onPin: (row, column) => {
      const isPinned = row === store.state.row && column === store.state.column;
      store.set({ ...NO_SELECTION, row: isPinned ? null : row, column: isPinned ? null : column });
    },
    getPins: () => store.state,
    clearPins: () => store.set(NO_SELECTION),
  };
}
