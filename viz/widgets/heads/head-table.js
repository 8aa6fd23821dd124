// Sortable table of a kind's heads, with their roles and all measures in this sentence.

import { make, isNarrow, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { sameHead } from '../core/store.js';
import { t } from '../core/i18n.js';
import { measureNames, listMeasures } from '../parts/measures.js';
import { shortName } from '../parts/head-names.js';

const HEAD = 'head';
const ROLE = 'role';

/** Sorts heads by a column: numbers descending, names ascending; the opposite if `reversed`. */
export function sortHeads(heads, column, reversed) {
  const value = (entry) => (column === HEAD ? -(entry.layer * 1e3 + entry.head) : entry.measures[column]);
  const rank = (entry) => (value(entry) === value(entry) ? value(entry) : -Infinity);
  const compare = (a, b) => (column === ROLE ? a.role.localeCompare(b.role) || b.share - a.share : rank(b) - rank(a) || 0);
  const sorted = [...heads].sort(compare);
  return reversed ? sorted.reverse() : sorted;
}

export class HeadTable {
  /** `view`: the head view that shows a selected head. */
  constructor(view) {
    this.view = view;
    this.column = HEAD;
    this.reversed = false;
    this.summary = make('summary', {});
    this.description = make('p', { class: 'quiet' });
    this.pickName = make('span', {});
    this.pick = make('select', { onchange: () => this.sort(this.pick.value) });
    this.picker = make('label', { class: 'picker' }, this.pickName, this.pick);
    this.table = make('table', {});
    this.scroller = make('div', { class: 'scroller', tabindex: 0, role: 'region' }, this.table);
    this.element = make('details', { class: 'head-table' }, this.summary, this.description, this.picker, this.scroller);
    this.element.addEventListener('toggle', () => this.draw());
    this.table.addEventListener('click', (event) => this.click(event.target.closest('button')));
  }

  click(button) {
    if (button?.dataset.column) this.sort(button.dataset.column);
    else if (button) {
      this.view.callbacks.choose({ layer: Number(button.dataset.layer), head: Number(button.dataset.head) });
      this.draw();
    }
  }

  /** Sorts by a column, or reverses the order if the table is sorted by it. */
  sort(column) {
    this.reversed = column === this.column && !this.reversed;
    this.column = column;
    this.draw();
  }

  /** Columns after head and role: all measures, or on a narrow screen the selected one. */
  get columns() {
    const names = measureNames(state.translation, state.kind);
    if (!isNarrow()) return names;
    return [names.includes(this.column) ? this.column : 'peak'];
  }

  draw() {
    this.summary.textContent = t('head_table');
    const { kind, translation } = state;
    const names = measureNames(translation, kind);
    this.element.hidden = !names.length;
    if (!this.element.open || !names.length) return;
    const measures = listMeasures(translation, kind);
    if (![HEAD, ROLE, ...names].includes(this.column)) [this.column, this.reversed] = [HEAD, false];
    const heads = measures.flatMap((measure, layer) =>
      measure.map((values, head) => {
        const [role, share] = translation.roles[kind][layer][head];
        return { layer, head, role: t(`chip_${role}`), share, measures: values };
      }),
    );
    this.description.textContent = t('head_table_says');
    this.scroller.setAttribute('aria-label', t('head_table'));
    this.picker.hidden = !isNarrow();
    this.pickName.textContent = t('head_table_measure');
    replace(this.pick, ...names.map((name) => make('option', { value: name }, t(`measure_${name}`))));
    this.pick.value = this.columns[0];
    const active = /** @type {HTMLElement} */ (document.activeElement);
    const focused = /** @type {any} */ (this.table.contains(active) ? { ...active.dataset } : null);
    replace(
      this.table,
      make('caption', { class: 'hidden-text' }, t('head_table')),
      make(
        'thead',
        {},
        make(
          'tr',
          {},
          this.title(HEAD, t('head_table_head')),
          this.title(ROLE, t('head_table_role')),
          ...this.columns.map((name) => this.title(name, t(`measure_${name}`))),
        ),
      ),
      make('tbody', {}, ...sortHeads(heads, this.column, this.reversed).map((item) => this.row(item))),
    );
    if (focused) this.focus(focused);
  }

  title(column, name) {
    const order = column !== this.column ? null : (column === HEAD || column === ROLE) !== this.reversed ? 'ascending' : 'descending';
    const attributes = { scope: 'col', 'aria-sort': order, class: column === HEAD || column === ROLE ? 'name' : null };
    const description = column === HEAD || column === ROLE ? null : t(`measure_${column}_says`);
    return make('th', attributes, make('button', { type: 'button', data: { column }, title: description }, name));
  }

  row({ layer, head, role, measures }) {
    const isSelected = sameHead({ layer, head }, state);
    const headButton = make(
      'button',
      { type: 'button', data: { layer, head }, 'aria-pressed': String(isSelected) },
      shortName({ layer, head }),
    );
    const cells = this.columns.map((name) => {
      const value = measures[name];
      return make('td', { class: name === this.column ? 'numeric sorted' : 'numeric' }, value === value ? value.toFixed(2) : '–');
    });
    return make('tr', { class: isSelected ? 'chosen' : null }, make('th', { scope: 'row' }, headButton), make('td', {}, role), ...cells);
  }

  focus({ column, layer, head }) {
    const selector = column ? `[data-column=${column}]` : `[data-layer="${layer}"][data-head="${head}"]`;
    this.table.querySelector(selector)?.focus({ preventScroll: true });
  }
}
