// Buttons for the view mode: matrix, effect, lines, numbers.

import { make } from '../core/dom.js';
import { reconcile } from '../core/reconcile.js';
import { t } from '../core/i18n.js';

/** The store's view mode if it is available, else the first. */
export const viewMode = (forms, { view }) => (forms.includes(view) ? view : forms[0]);

/** Buttons that set `view` in a store; returns their render function. */
export function mountViewModes(element, store, forms) {
  element.classList.add('segments');
  element.setAttribute('role', 'group');
  const button = (form) => {
    const attributes = { type: 'button', 'aria-pressed': String(form === viewMode(forms, store.state)), data: { view: form } };
    return make('button', { ...attributes, onclick: () => store.set({ view: form }) }, t(`view_${form}`));
  };
  return () => {
    element.setAttribute('aria-label', t('beside_views'));
    reconcile(element, ...forms.map(button));
  };
}
