// Buttons for the view mode: matrix, effect, lines, numbers.

import { make } from '../core/dom.js';
import { reconcile } from '../core/reconcile.js';
import { t } from '../core/i18n.js';

/** The store's view mode if it is available, else the first. */
export const getViewMode = (viewModes, { view }) => (viewModes.includes(view) ? view : viewModes[0]);

/** Buttons that set `view` in a store; returns their render function. */
export function mountViewModes(element, store, viewModes) {
  element.classList.add('segments');
  element.setAttribute('role', 'group');
  const button = (viewMode) => {
    const attributes = {
      type: 'button',
      'aria-pressed': String(viewMode === getViewMode(viewModes, store.state)),
      data: { view: viewMode },
    };
    return make('button', { ...attributes, onclick: () => store.set({ view: viewMode }) }, t(`view_${viewMode}`));
  };
  return () => {
    element.setAttribute('aria-label', t('beside_views'));
    reconcile(element, ...viewModes.map(button));
  };
}
