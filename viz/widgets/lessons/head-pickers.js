// Menus for a step's layer and head, with previous and next buttons that wrap around.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { stepButtons } from '../parts/step-buttons.js';

export function drawPickers(element, { kind, picks }, { look, translation, pick }) {
  const { layer, head } = look[kind];
  const focused = element.contains(document.activeElement) && document.activeElement.getAttribute('data-turn');
  const picker = (name, current, count, toSelection) => {
    const [previousButton, nextButton] = stepButtons((step) =>
      pick({ [kind]: { layer, head, ...toSelection((current + step + count) % count) } }),
    );
    for (const [button, word] of [
      [previousButton, 'previous'],
      [nextButton, 'next'],
    ]) {
      button.setAttribute('aria-label', t(`lesson_${word}_${name}`));
      button.dataset.turn = `${name} ${word}`;
    }
    return make(
      'span',
      { class: 'turning' },
      previousButton,
      make('span', { class: 'numeric' }, t(`lesson_${name}`, { [name]: current + 1 })),
      nextButton,
    );
  };
  replace(
    element,
    picks.includes('layer') ? picker('layer', layer, translation.layers(kind), (next) => ({ layer: next })) : null,
    picks.includes('head') ? picker('head', head, translation.heads(kind), (next) => ({ head: next })) : null,
  );
  if (focused) /** @type {any} */ (element.querySelector(`[data-turn="${focused}"]`))?.focus({ preventScroll: true });
}
