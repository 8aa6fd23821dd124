// Chips for the roles of heads in this sentence. A click outlines the heads with a role and opens the strongest; further clicks
// step through them, and a click after the last one removes the outlines.

import { make, replace, svg, isTextField } from '../core/dom.js';
import { set, state } from '../core/state.js';
import { sameHead } from '../core/store.js';
import { t } from '../core/i18n.js';
import { headName } from '../parts/head-names.js';

/** Roles in the order of the chips, with the nine cells of their icons: 0 faint, 1 full, 2 medium. */
const ICON_CELLS = {
  aligns: '100010001',
  behind: '000100010',
  diagonal: '100010001',
  same: '100010001',
  previous: '000100010',
  next: '010001000',
  just_written: '100010001',
  back_two: '000000100',
  before: '000100110',
  ahead: '011001000',
  around: '110111011',
  start: '100100100',
  end: '001001001',
  punctuation: '010010010',
  spreads: '222222222',
  unclear: '202020220',
};

/** Heads per role in this sentence, strongest first; roles without heads are omitted. */
export function groupByRole(translation, kind) {
  const roles = new Map();
  for (let layer = 0; layer < translation.layers(kind); layer++) {
    for (let head = 0; head < translation.heads(kind); head++) {
      const [role, share] = translation.roles[kind][layer][head];
      roles.set(role, [...(roles.get(role) ?? []), { layer, head, share }]);
    }
  }
  for (const heads of roles.values()) heads.sort((a, b) => b.share - a.share);
  return new Map(Object.keys(ICON_CELLS).flatMap((role) => (roles.has(role) ? [[role, roles.get(role)]] : [])));
}

/** Index of the head that the next press opens; -1 after the last. */
export const nextIndex = (heads, index) => (index + 1 < heads.length ? index + 1 : -1);

export class RoleChips {
  /** `view`: the head view whose wall shows the outlines; `isVisible()`: whether the tab is visible. */
  constructor(view, isVisible) {
    this.view = view;
    this.index = -1; // index of the open head among the role's heads
    /** @type {Map<string, any[]>} */
    this.roles = new Map();
    this.translation = null; // the translation of `roles`
    this.kind = '';
    this.loadedKey = ''; // key of the displayed chips
    this.name = make('span', { class: 'quiet' });
    this.list = make('span', { class: 'list-of-chips', role: 'group' });
    this.status = make('span', { class: 'hidden-text', role: 'status' });
    this.element = make('div', { class: 'head-roles' }, this.name, this.list, this.status);
    this.list.addEventListener('click', (event) => {
      const chip = event.target.closest('button');
      if (chip) this.press(chip.dataset.role);
    });
    document.addEventListener('keydown', (event) => {
      if (!isVisible() || event.ctrlKey || event.metaKey || event.altKey || isTextField(event.target)) return;
      if (event.key.toLowerCase() === 'c') this.press(this.role ?? this.roles.keys().next().value);
      else if (event.key === 'Escape') this.clear();
    });
  }

  press(role) {
    const heads = this.roles.get(role);
    if (!heads) return;
    const index = role === this.role ? nextIndex(heads, this.index) : 0;
    if (index < 0) return this.clear();
    const { layer, head } = heads[index];
    set({ role });
    this.view.callbacks.choose({ layer, head });
    const counts = { number: index + 1, count: heads.length };
    this.status.textContent = t('chip_shows', { name: t(`chip_${role}`), head: headName(layer, head), ...counts });
    this.draw();
  }

  clear() {
    this.index = -1;
    set({ role: '' });
    this.draw();
  }

  /** The outlined role, if the sentence has heads with it. */
  get role() {
    return this.roles.has(state.role) ? state.role : null;
  }

  /** Draws the chips, with new roles after a change of sentence or kind. */
  draw() {
    const { translation, kind } = state;
    if (this.translation !== translation || this.kind !== kind) {
      this.roles = translation.roles?.[kind] ? groupByRole(translation, kind) : new Map();
      if (this.kind && this.kind !== kind) set({ role: '' });
      [this.translation, this.kind] = [translation, kind];
    }
    const heads = this.roles.get(this.role) ?? [];
    this.index = heads.findIndex((head) => sameHead(head, state));
    this.element.hidden = !this.roles.size;
    this.name.textContent = t('chips_name');
    this.list.setAttribute('aria-label', t('chips_name'));
    const key = JSON.stringify([
      [...this.roles].map(([role, heads]) => [role, heads.length]),
      this.role,
      this.index,
      state.language,
      state.theme,
    ]);
    if (key !== this.loadedKey) this.drawChips();
    this.loadedKey = key;
    this.outline();
  }

  drawChips() {
    const active = /** @type {HTMLElement} */ (document.activeElement);
    const focused = this.list.contains(active) ? active.dataset.role : null;
    replace(this.list, ...[...this.roles].map(([role, heads]) => this.chip(role, heads)));
    if (focused) this.list.querySelector(`[data-role=${focused}]`)?.focus({ preventScroll: true });
  }

  chip(role, heads) {
    const isPressed = role === this.role;
    const attributes = { type: 'button', class: 'head-role', data: { role }, 'aria-pressed': String(isPressed), title: t('chip_says') };
    const count = isPressed && this.index >= 0 ? `${this.index + 1} / ${heads.length}` : String(heads.length);
    return make('button', attributes, makeRoleIcon(role), t(`chip_${role}`), make('span', { class: 'numeric quiet' }, count));
  }

  outline() {
    const heads = this.role ? this.roles.get(this.role) : [];
    this.view.grid.element.classList.toggle('outlining', heads.length > 0);
    for (const button of this.view.grid.buttons()) {
      const hasRole = heads.some(({ layer, head }) => String(layer) === button.dataset.layer && String(head) === button.dataset.head);
      button.classList.toggle('has-role', hasRole);
    }
  }
}

/** A 3 × 3 icon of the role's attention pattern. */
function makeRoleIcon(role) {
  const cells = [...ICON_CELLS[role]].map((mark, index) => {
    const opacity = { 0: 0.18, 1: 1, 2: 0.45 }[mark];
    return svg('rect', { x: 4 * (index % 3), y: 4 * Math.floor(index / 3), width: 3.4, height: 3.4, opacity });
  });
  return svg('svg', { viewBox: '0 0 11.4 11.4', class: 'icon', fill: 'currentColor', 'aria-hidden': 'true' }, ...cells);
}
