// Display options of maps: whole words, special tokens, scale, colours.

import { make, replace } from '../core/dom.js';
import { FIELDS } from '../core/fields.js';
import { remapRow } from '../core/selection.js';
import { NO_SELECTION, pageStore } from '../core/state.js';
import { twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';

const MAX_UNSHRUNK_TOKENS = 44; // longer sentences offer the option `fit`, which shrinks a map instead of scrolling it

/** Mounts the display controls of a store and their note. Returns their render function. */
export function mountDisplayOptions(element, note, { state, set } = pageStore) {
  element.classList.add('tools');
  note.classList.add('note');

  const check = (field, disabled = false) => {
    const box = make('input', { type: 'checkbox', data: { field }, disabled });
    box.checked = state[field];
    box.addEventListener('change', () => {
      const changes = { [field]: box.checked };
      const row = remapRow(state.translation, state, changes);
      set({ ...changes, ...(field === 'fit' ? {} : { ...NO_SELECTION, row }) });
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
    const isLong = state.translation.source.length > MAX_UNSHRUNK_TOKENS || state.translation.target.length > MAX_UNSHRUNK_TOKENS;
    replace(
      element,
      ...FIELDS.selection
        .filter(({ on_page: isShown }) => isShown)
        .map(({ name, choices }) => (choices ? choose(name, choices) : check(name, name === 'rescale' && state.special))),
      isLong ? check('fit') : null,
    );
    if (focused) element.querySelector(`[data-field=${focused}]`)?.focus({ preventScroll: true });
    note.textContent = formatNote(view, state);
  };
}

function formatNote(view, state) {
  if (view.maximum) return t('note_maximum');
  if (state.special) return '';
  return state.rescale ? t('note_rescaled') : t('note_hidden', { share: twoDecimals(view.hidden) });
}
