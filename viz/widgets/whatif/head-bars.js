// A list of heads as bars with numbers; a click selects the head.

import { make, replace } from '../core/dom.js';
import { pageStore, state } from '../core/state.js';
import { cssColour, scaleColour } from '../core/theme.js';
import { t } from '../core/i18n.js';

export const headName = ({ kind, layer, head }) => `${t(`kind_${kind}_short`)} ${t('whatif_head', { layer: layer + 1, head: head + 1 })}`;

export class HeadBars {
  constructor() {
    this.element = make('div', { class: 'bars' });
    this.element.addEventListener('click', ({ target }) => {
      const { kind, layer, head } = /** @type {HTMLElement} */ (target).closest('button')?.dataset ?? {};
      if (kind) pageStore.set({ kind, layer: Number(layer), head: Number(head), row: null, column: null });
    });
  }

  /**
   * `level`: position on the difference scale, from 0 to 1; `share`: signed length of the bar, at most 1.
   * @param {{ kind: string, layer: number, head: number, share: number, level: number, numbers: string[] }[]} items
   * @param {string[]} columnNames shown above the first bar
   */
  draw(items, columnNames = []) {
    const headers = columnNames.map((name) => make('span', {}, name));
    replace(this.element, ...(items.length && headers.length ? [make('div', { class: 'names' }, ...headers)] : []), ...items.map(makeBar));
  }
}

function makeBar({ kind, layer, head, share, level, numbers }) {
  const style = `width:${(100 * Math.abs(share)).toFixed(1)}%;background:${cssColour(scaleColour('difference', level))}`;
  const isPressed = state.kind === kind && state.layer === layer && state.head === head;
  return make(
    'button',
    { type: 'button', 'aria-pressed': String(isPressed), data: { kind, layer, head } },
    make('span', {}, headName({ kind, layer, head })),
    make('span', { class: 'track' }, make('i', { style })),
    ...numbers.map((number) => make('span', { class: 'numeric' }, number)),
  );
}
