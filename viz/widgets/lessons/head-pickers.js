// Of which layer and head a step tells: one back, one on, round and round.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { stepButtons } from '../parts/step-buttons.js';

export function drawPickers(element, { kind, picks }, { look, translation, pick }) {
  const { layer, head } = look[kind];
  const focused = element.contains(document.activeElement) && document.activeElement.getAttribute('data-turn');
  const turning = (name, now, count, change) => {
    const [before, after] = stepButtons((by) => pick({ [kind]: { layer, head, ...change((now + by + count) % count) } }));
    for (const [button, word] of [
      [before, 'previous'],
      [after, 'next'],
    ]) {
      button.setAttribute('aria-label', t(`lesson_${word}_${name}`));
      button.dataset.turn = `${name} ${word}`;
    }
    return make('span', { class: 'turning' }, before, make('span', { class: 'numeric' }, t(`lesson_${name}`, { [name]: now + 1 })), after);
  };
  replace(
    element,
    picks.includes('layer') ? turning('layer', layer, translation.layers(kind), (next) => ({ layer: next })) : null,
    picks.includes('head') ? turning('head', head, translation.heads(kind), (next) => ({ head: next })) : null,
  );
  if (focused) /** @type {any} */ (element.querySelector(`[data-turn="${focused}"]`))?.focus({ preventScroll: true });
}
