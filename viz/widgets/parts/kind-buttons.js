// Buttons for the kind of attention: encoder, decoder, cross.

import { selectInKind } from '../core/selection.js';
import { icon, make } from '../core/dom.js';
import { reconcile } from '../core/reconcile.js';
import { NO_SELECTION } from '../core/store.js';
import { t } from '../core/i18n.js';

const FULL_MATRIX = ['M1 1h7.5v7.5H1zM9.5 1H17v7.5H9.5zM1 9.5h7.5V17H1zM9.5 9.5H17V17H9.5z'];
// Icon of each kind: a full matrix, a triangle, a path.
const SHAPES = {
  self: FULL_MATRIX,
  encoder: FULL_MATRIX,
  decoder: ['M1 1h4.7v4.7H1zM1 6.7h4.7v4.6H1zM6.7 6.7h4.6v4.6H6.7zM1 12.3h4.7V17H1zM6.7 12.3h4.6V17H6.7zM12.3 12.3H17V17h-4.7z'],
  cross: [
    'M1 3h5v3.5H1zM6.5 7h5v3.5h-5zM12 11h5v3.5h-5z',
    { d: 'M6.5 3h5v3.5h-5zM12 3h5v3.5h-5zM1 7h5v3.5H1zM12 7h5v3.5h-5zM1 11h5v3.5H1zM6.5 11h5v3.5h-5z', opacity: 0.25 },
  ],
};

const headCount = (translation, kind) => translation.layers(kind) * translation.heads(kind);

/** Changes the kind. Ends a comparison, because maps of different kinds have different shapes. */
export function chooseKind({ state, set }, translation, kind) {
  if (kind !== state.kind) set({ pinned: null, preview: null, ...NO_SELECTION, ...selectInKind(translation, state, kind) });
}

/**
 * Mounts buttons that set the kind in a store. Returns their render function. `source()`: see `TranslationSource`;
 * `short()`: whether names are short and followed by the number of heads.
 */
export function mountKinds(element, store, source, short = () => false) {
  const { state } = store;
  const choices = make('div', { class: 'choices', role: 'radiogroup' });
  const caption = make('p', { class: 'kind-says' });
  element.classList.add('kinds');
  element.append(choices, caption);
  element.addEventListener('click', (event) => {
    const button = event.target.closest('[data-kind]');
    if (button) pick(button.dataset.kind);
  });
  element.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const { kinds } = source();
    pick(kinds[(kinds.indexOf(state.kind) + step + kinds.length) % kinds.length]);
  });
  const pick = (kind) => {
    chooseKind(store, source().translation, kind);
    element.querySelector(`[data-kind=${kind}]`).focus({ preventScroll: true });
  };
  return () => {
    choices.setAttribute('aria-label', t('kinds'));
    const buttons = source().kinds.map((kind) => {
      const isSelected = kind === state.kind;
      const text = t(short() ? `kind_short_${kind}` : `kind_${kind}`);
      const name = make('span', { data: { text } }, text);
      const attributes = { type: 'button', role: 'radio', 'aria-checked': String(isSelected), tabindex: isSelected ? 0 : -1 };
      const explained = kind === 'self' ? {} : { explains: kind }; // explained next to the model's name
      const button = make(
        'button',
        { ...attributes, data: { kind, ...explained } },
        icon(18, SHAPES[kind], { fill: 'currentColor' }),
        name,
      );
      if (short()) button.append(make('span', { class: 'count numeric' }, String(headCount(source().translation, kind))));
      return button;
    });
    reconcile(choices, ...buttons);
    caption.textContent = source().kindText(state.kind);
  };
}
