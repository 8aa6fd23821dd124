// The operation of a part in the visitor's model, with the numbers of the visitor's own sentence.

import { make, replace } from '../core/dom.js';
import { faultText, t } from '../core/i18n.js';
import { state } from '../core/state.js';
import { hasLargeCell, largeCell, largeScene } from './large-cell.js';
import { formatNumber } from '../parts/sums.js';

export class LargeModel {
  /** `callbacks`: `tensors`, the lessons' cache of tensors, and `openStep(step)`. */
  constructor(callbacks) {
    this.callbacks = callbacks;
    this.isOpen = false;
    this.selection = {};
    this.button = make('button', { type: 'button', class: 'link large-button', onclick: () => this.toggle() });
    this.title = make('h3', { tabindex: '-1' });
    this.row = make('select', { onchange: (event) => this.choose(event.target) });
    this.key = make('select', { onchange: (event) => this.choose(event.target) });
    this.table = make('div', { class: 'large-table', tabindex: '0', role: 'group' });
    this.text = make('p', { class: 'large-note', role: 'status' });
    this.step = make('button', { type: 'button', class: 'link', onclick: () => callbacks.openStep(this.part.large) });
    this.pickers = make('div', { class: 'large-pickers' }, this.row, this.key);
    this.element = make('section', { class: 'build-large', hidden: true }, this.title, this.pickers, this.table, this.text, this.step);
  }

  toggle() {
    this.isOpen = !this.isOpen;
    this.draw(this.part);
    if (this.isOpen) this.reveal();
  }

  open() {
    this.isOpen = true;
    this.draw(this.part);
    this.reveal();
  }

  reveal() {
    this.element.scrollIntoView({ block: 'nearest' });
    this.title.focus({ preventScroll: true });
  }

  choose({ value, name }) {
    this.selection[name] = Number(value);
    this.draw(this.part);
  }

  async draw(part) {
    this.part = part;
    this.button.textContent = t('build_large');
    this.button.setAttribute('aria-expanded', String(this.isOpen));
    this.element.hidden = !this.isOpen;
    if (!this.isOpen) return;
    this.title.textContent = t('build_large_title');
    this.step.textContent = t('build_large_step');
    this.text.textContent = '';
    const { translation } = state;
    const isShown = Boolean(translation) && hasLargeCell(part.name);
    this.pickers.hidden = this.table.hidden = !isShown;
    if (!translation) this.text.textContent = t('lesson_no_sentence');
    else if (!isShown) this.text.textContent = t('build_large_only_step');
    else await this.drawCell(translation);
  }

  async drawCell(translation) {
    const generation = (this.generation ?? 0) + 1;
    this.generation = generation;
    const { tensors } = this.callbacks;
    try {
      const needed = largeScene(this.part.name, translation, tensors.get(translation), this.selection).requiredPaths();
      await tensors.load(translation, needed);
    } catch (error) {
      this.text.textContent = faultText(error);
      return;
    }
    if (generation !== this.generation) return;
    const scene = largeScene(this.part.name, translation, tensors.get(translation), this.selection);
    this.drawPickers(scene);
    this.drawTable(scene, largeCell(this.part.name, scene));
  }

  drawPickers(scene) {
    const isEncoder = scene.kind === 'encoder';
    fillSelect(this.row, isEncoder ? 'token' : 'written', scene.rows, scene.row, t('build_large_row'));
    fillSelect(this.key, 'key', scene.columns, scene.key, t('build_large_key'));
    this.key.hidden = this.part.name !== 'scores';
  }

  drawTable(scene, { columns, rows, result }) {
    const body = rows.map(([name, numbers]) =>
      make('tr', {}, make('th', { scope: 'row' }, name), ...numbers.map((number) => make('td', {}, formatNumber(number)))),
    );
    const header = make('thead', {}, make('tr', {}, make('td', {}), ...columns.map((column) => make('th', { scope: 'col' }, column))));
    this.table.setAttribute('aria-label', t('build_large_title'));
    replace(this.table, make('table', {}, header, make('tbody', {}, ...body)));
    const headText = t('build_large_place', { layer: scene.layer + 1, head: scene.head + 1 });
    const count = rows.at(-1)[1].length;
    this.text.textContent = result === null ? headText : `${headText} ${t('build_large_sum', { count, result: formatNumber(result) })}`;
  }
}

function fillSelect(select, name, tokens, selection, label) {
  select.name = name;
  select.setAttribute('aria-label', label);
  const option = ({ label: text }, index) => make('option', { value: String(index), selected: index === selection }, text);
  replace(select, ...tokens.map(option));
}
