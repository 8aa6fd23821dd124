// Chooses the action that a click on the wall applies to a head: buttons for common actions, a menu for the others.

import { make } from '../core/dom.js';
import { reconcile } from '../core/reconcile.js';
import { t } from '../core/i18n.js';
import { BRUSHES } from './interventions.js';

const COMMON = ['look', 'remove', 'uniform', 'flatter', 'sharper'];

export class Brushes {
  constructor(store) {
    this.store = store;
    this.buttons = make('div', { class: 'segments', role: 'group' });
    this.menu = make('select', { onchange: () => this.menu.value && store.set({ brush: this.menu.value }) });
    this.element = make('div', { class: 'brushes' }, this.buttons, this.menu);
  }

  draw() {
    const { brush } = this.store.state;
    const button = (name) =>
      make(
        'button',
        { type: 'button', 'aria-pressed': String(name === brush), onclick: () => this.store.set({ brush: name }) },
        t(`whatif_brush_${name}`),
      );
    this.buttons.setAttribute('aria-label', t('whatif_brushes'));
    reconcile(this.buttons, ...COMMON.map(button));
    this.menu.setAttribute('aria-label', t('whatif_brushes_more'));
    const rareBrushes = BRUSHES.map(({ name }) => name).filter((name) => !COMMON.includes(name));
    const option = (name) => make('option', { value: name }, t(`whatif_brush_${name}`));
    reconcile(this.menu, make('option', { value: '' }, t('whatif_brushes_more')), ...rareBrushes.map(option));
    this.menu.value = rareBrushes.includes(brush) ? brush : '';
    this.menu.classList.toggle('chosen', rareBrushes.includes(brush));
  }
}
