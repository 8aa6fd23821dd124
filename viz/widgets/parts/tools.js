// How the maps are shown: whole words, special tokens, scale, colours.

import { make, replace } from '../core/dom.js';
import { FIELDS } from '../core/fields.js';
import { rowStill } from '../core/look.js';
import { LET_GO, page } from '../core/state.js';
import { two } from '../core/view.js';
import { t } from '../core/words.js';

const LONG = 44;

/** The display controls of a store and their status message; returns their render function. */
export function mountTools(element, note, { state, set } = page) {
  element.classList.add('tools');
  note.classList.add('note');

  const check = (field, disabled = false) => {
    const box = make('input', { type: 'checkbox', data: { field }, disabled });
    box.checked = state[field];
    box.addEventListener('change', () => {
      const changed = { [field]: box.checked };
      const row = rowStill(state.translation, state, changed);
      set({ ...changed, ...(field === 'fit' ? {} : { ...LET_GO, row }) });
    });
    return make('label', {}, box, make('span', {}, t(`tool_${field}`)));
  };
  const choose = (field, values) => {
    const select = make('select', { data: { field } }, ...values.map((value) => make('option', { value }, t(`${field}_${value}`))));
    select.value = state[field];
    select.addEventListener('change', () => set({ [field]: select.value }));
    return make('label', {}, make('span', {}, t(`tool_${field}`)), select);
  };

  return function draw(view) {
    const active = /** @type {HTMLElement} */ (document.activeElement);
    const focused = element.contains(active) ? active.dataset.field : null;
    const long = state.translation.source.length > LONG || state.translation.target.length > LONG;
    replace(
      element,
      ...FIELDS.selection
        .filter(({ page }) => page)
        .map(({ name, choices }) => (choices ? choose(name, choices) : check(name, name === 'rescale' && state.special))),
      long ? check('fit') : null,
    );
    if (focused) element.querySelector(`[data-field=${focused}]`)?.focus({ preventScroll: true });
    note.textContent = says(view, state);
  };
}

function says(view, state) {
  if (view.maximum) return t('note_maximum');
  if (state.special) return '';
  return state.rescale ? t('note_rescaled') : t('note_hidden', { share: two(view.hidden) });
}
