// List box with groups, keyboard navigation, type-ahead and search.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';

const MAX_ITEMS_WITHOUT_SEARCH = 24; // longer lists get a search field
const MARGIN = 16; // pixels between the list and the window's edge
const TYPEAHEAD_MS = 800; // maximum pause between letters of one type-ahead query

let count = 0;

const normalise = (text) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

export class ListBox {
  /** `choose(value)`: called on a selection; `opened()`: called on opening; `end`: element below the list; `name`: CSS class. */
  constructor(choose, { end = null, name = '', opened = () => {} } = {}) {
    count += 1;
    const id = `picker-${count}`;
    this.choose = choose;
    this.opened = opened;
    this.id = id;
    this.end = end;
    this.groups = [];
    this.rows = [];
    this.activeIndex = -1;
    this.typedLetters = '';
    this.lastTypedTime = 0;
    this.isPressed = false;
    this.hasDeferredUpdate = false;
    this.button = make('button', {
      type: 'button',
      class: 'opens',
      'aria-haspopup': 'listbox',
      'aria-expanded': 'false',
      'aria-controls': `${id}-list`,
    });
    this.search = make('input', {
      type: 'search',
      class: 'search',
      role: 'combobox',
      'aria-expanded': 'true',
      'aria-controls': `${id}-list`,
      'aria-autocomplete': 'list',
      autocomplete: 'off',
      spellcheck: 'false',
    });
    this.list = make('div', { class: 'choices', role: 'listbox', id: `${id}-list`, tabindex: 0 });
    this.emptyNote = make('p', { class: 'quiet none', role: 'status' });
    this.panel = make('div', { class: 'panel-of-picker', hidden: true }, this.search, this.list, this.emptyNote, end);
    this.element = make('div', { class: `picker ${name}` }, this.button, this.panel);
    this.listen();
  }

  listen() {
    this.button.addEventListener('click', () => (this.panel.hidden ? this.open() : this.close(true)));
    this.button.addEventListener('keydown', (event) => {
      if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
      event.preventDefault();
      event.stopPropagation();
      this.open();
    });
    this.search.addEventListener('input', () => this.draw());
    this.list.addEventListener('click', (event) => this.select(event.target.closest('[role=option]')));
    this.list.addEventListener('pointermove', (event) => {
      const row = event.target.closest('[role=option]');
      if (row && this.rows.indexOf(row) !== this.activeIndex) this.activate(this.rows.indexOf(row), false);
    });
    this.list.addEventListener('pointerdown', () => (this.isPressed = true));
    for (const end of ['pointerup', 'pointercancel']) document.addEventListener(end, () => setTimeout(() => this.release()));
    this.panel.addEventListener('keydown', (event) => this.onKeydown(event));
    this.element.addEventListener('focusout', (event) => {
      if (event.relatedTarget && !this.element.contains(event.relatedTarget)) this.close();
    });
    document.addEventListener('pointerdown', (event) => this.element.contains(event.target) || this.close());
  }

  onKeydown(event) {
    event.stopPropagation(); // letters are also shortcuts of the page
    if (event.isComposing) return; // input methods confirm with Enter
    if (event.key === 'Escape') {
      event.preventDefault();
      this.close(true);
    }
    if (event.target !== this.list && event.target !== this.search) return;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    const edge = event.target === this.list && { Home: 0, End: this.rows.length - 1 }[event.key];
    if (step) this.activate(Math.min(this.rows.length - 1, Math.max(0, this.activeIndex + step)));
    else if (typeof edge === 'number') this.activate(edge);
    else if (event.key === 'Enter' || (event.key === ' ' && event.target === this.list)) this.select(this.rows[this.activeIndex]);
    else if (event.target === this.list && event.key.length === 1 && !event.ctrlKey && !event.metaKey) this.typeAhead(event.key);
    else return;
    event.preventDefault();
  }

  /** Activates the first item that starts with the typed letters. */
  typeAhead(key) {
    const now = performance.now();
    this.typedLetters = (now - this.lastTypedTime < TYPEAHEAD_MS ? this.typedLetters : '') + normalise(key);
    this.lastTypedTime = now;
    const index = this.rows.findIndex((row) => normalise(row.textContent).startsWith(this.typedLetters));
    if (index >= 0) this.activate(index);
  }

  /** Draws the update that was deferred while an item was pressed. */
  release() {
    this.isPressed = false;
    if (this.hasDeferredUpdate && !this.panel.hidden) this.draw(this.rows[this.activeIndex]?.dataset.value);
    this.hasDeferredUpdate = false;
  }

  select(row) {
    if (!row) return;
    this.close(true);
    this.choose(row.dataset.value);
  }

  activate(index, scroll = true) {
    this.rows[this.activeIndex]?.classList.remove('at');
    this.activeIndex = index;
    const row = this.rows[index];
    row?.classList.add('at');
    if (row && scroll) this.reveal(row);
    for (const element of [this.list, this.search]) {
      if (row) element.setAttribute('aria-activedescendant', row.id);
      else element.removeAttribute('aria-activedescendant');
    }
  }

  /** Scrolls the list without scrolling the page. */
  reveal(row) {
    const [list, rowBox] = [this.list.getBoundingClientRect(), row.getBoundingClientRect()];
    if (rowBox.top < list.top) this.list.scrollTop -= list.top - rowBox.top;
    if (rowBox.bottom > list.bottom) this.list.scrollTop += rowBox.bottom - list.bottom;
  }

  open() {
    this.search.value = '';
    this.panel.hidden = false;
    this.panel.style.left = '0';
    this.button.setAttribute('aria-expanded', 'true');
    const box = this.element.getBoundingClientRect();
    const overflow = box.left + this.panel.offsetWidth + MARGIN - document.documentElement.clientWidth;
    this.panel.style.left = `${-Math.max(0, overflow)}px`;
    this.draw();
    (this.search.hidden ? this.list : this.search).focus({ preventScroll: true });
    this.opened();
  }

  close(back = false) {
    if (this.panel.hidden) return;
    this.panel.hidden = true;
    this.button.setAttribute('aria-expanded', 'false');
    if (back) this.button.focus({ preventScroll: true });
  }

  /** `groups`: [{name, items: [{value, text, more, mark, description}]}]; `buttonText`: text of the closed button. */
  fill({ label, buttonText, groups, selectedValue }) {
    const hasChanged = JSON.stringify([groups, selectedValue]) !== JSON.stringify([this.groups, this.selectedValue]);
    this.groups = groups;
    this.selectedValue = selectedValue;
    this.button.textContent = buttonText;
    this.button.setAttribute('aria-label', t('picker_button', { label, chosen: buttonText }));
    this.list.setAttribute('aria-label', label);
    this.search.setAttribute('aria-label', t('picker_search'));
    this.search.placeholder = t('picker_search');
    this.search.hidden = groups.reduce((sum, { items }) => sum + items.length, 0) <= MAX_ITEMS_WITHOUT_SEARCH;
    if (!hasChanged || this.panel.hidden) return;
    if (this.isPressed) this.hasDeferredUpdate = true;
    else this.draw(this.rows[this.activeIndex]?.dataset.value);
  }

  /** `active`: value of the active item, which stays active if the list changes. */
  draw(active = null) {
    const query = normalise(this.search.value.trim());
    this.rows = [];
    const groups = this.groups.map(({ name, items }) => {
      const matches = items.filter(({ value, text, more = '' }) => normalise(`${text} ${more} ${value}`).includes(query));
      const rows = matches.map((item) => this.row(item));
      if (!rows.length) return null;
      const caption = name && make('div', { class: 'caption', 'aria-hidden': 'true' }, name);
      return make('div', { role: 'group', 'aria-label': name || null }, caption || null, ...rows);
    });
    replace(this.list, ...groups);
    this.emptyNote.textContent = this.rows.length ? '' : t('picker_none');
    this.list.hidden = !this.rows.length;
    const indexByValue = (value) => this.rows.findIndex((row) => row.dataset.value === value);
    const [activeIndex, selectedIndex] = [indexByValue(active), indexByValue(this.selectedValue)];
    if (activeIndex >= 0) this.activate(activeIndex, false);
    else this.activate(query ? 0 : Math.max(0, selectedIndex));
  }

  row({ value, text, more = '', mark = '', description = null }) {
    const parts = [
      make('span', { class: 'what' }, text),
      make('span', { class: 'more' }, more),
      make('span', { class: 'mark numeric' }, mark),
    ];
    const isSelected = String(value === this.selectedValue);
    const row = make(
      'div',
      { role: 'option', id: `${this.id}-${this.rows.length}`, 'aria-selected': isSelected, 'aria-label': description, data: { value } },
      ...parts,
    );
    this.rows.push(row);
    return row;
  }
}
