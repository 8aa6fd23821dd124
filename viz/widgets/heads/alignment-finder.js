// Alignment finder: the visitor links words of both sentences, and every cross-attention head is scored against the links, both
// by the row that writes a word and by the next row, which reads it.

import { isShiftedHead } from '../core/default-head.js';
import { make, replace, svg } from '../core/dom.js';
import { state } from '../core/state.js';
import { twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { findAttentionLinks, rankHeads, readPharaoh, makeLinkUnits, writePharaoh } from '../parts/word-links.js';
import { shortName } from '../parts/head-names.js';
import { GoldFile } from './gold-file.js';

const UNITS = ['words', 'tokens'];
const MAX_LISTED_HEADS = 12; // unless all are shown

export class AlignmentFinder {
  /**
   * `view`: the head view that shows a selected head; `explain` opens the explanation of the selected head.
   * @param {import('../core/server.js').Server} server
   */
  constructor(server, view, explain) {
    this.view = view;
    this.file = new GoldFile(server, (head) => this.show(head));
    this.unit = 'words';
    this.gold = new Map();
    this.source = null; // index of the source word to link, or null
    this.showsAll = false;
    this.translation = null; // the translation that the links belong to
    this.summary = make('summary', {});
    this.description = make('p', { class: 'quiet' });
    this.units = make('div', { class: 'segments', role: 'group' });
    this.rows = ['source', 'target'].map((side) => make('div', { class: `words ${side}`, role: 'group', data: { side } }));
    this.lines = svg('svg', { 'aria-hidden': 'true' });
    this.board = make('div', { class: 'link-board' }, this.rows[0], this.lines, this.rows[1]);
    this.name = make('span', {});
    this.field = make('input', { type: 'text', spellcheck: 'false', autocomplete: 'off', dir: 'ltr', oninput: () => this.parseLinks() });
    const button = (onclick) => make('button', { type: 'button', class: 'link', onclick });
    this.useLinksButton = button(() => this.useHeadLinks());
    this.copyButton = button(() => this.copyLinks());
    this.clearButton = button(() => this.change(new Map()));
    this.error = make('p', { class: 'error', role: 'alert' });
    this.status = make('span', { class: 'quiet', role: 'status' });
    this.table = make('table', {});
    this.moreButton = button(() => {
      this.showsAll = !this.showsAll;
      this.drawTable();
    });
    this.explainButton = button(explain);
    const field = make('label', { class: 'pharaoh' }, this.name, this.field);
    const buttons = make('div', { class: 'link-buttons' }, this.useLinksButton, this.copyButton, this.clearButton, this.status);
    this.body = make(
      'div',
      {},
      this.description,
      this.units,
      this.board,
      field,
      this.error,
      buttons,
      this.table,
      make('div', { class: 'link-buttons' }, this.moreButton, this.explainButton),
      this.file.element,
    );
    this.element = make('details', { class: 'head-table finder' }, this.summary, this.body);
    this.element.addEventListener('toggle', () => this.draw());
    this.board.addEventListener('click', (event) => this.press(event.target.closest('button')));
    this.table.addEventListener('click', (event) => this.open(event.target.closest('button')));
    new ResizeObserver(() => this.element.open && this.drawLines()).observe(this.board);
  }

  // ---------------------------------------------------------------- links

  press(button) {
    if (!button) return;
    const index = Number(button.dataset.place);
    this.status.textContent = '';
    if (button.parentElement === this.rows[0]) {
      if (this.source === index) this.status.textContent = t('finder_let_go', { word: this.sources[index].label });
      this.source = this.source === index ? null : index;
    } else if (this.source !== null) {
      const name = `${this.source}-${index}`;
      const gold = new Map(this.gold);
      if (!gold.delete(name)) gold.set(name, true);
      this.gold = gold;
      this.field.value = writePharaoh(gold);
      this.error.textContent = '';
    }
    this.drawLinkEditor();
    this.drawTable();
  }

  parseLinks() {
    const { gold, fault, entry } = readPharaoh(this.field.value, this.sources.length, this.targets.length);
    const counts = { sources: this.sources.length, targets: this.targets.length };
    this.error.textContent = fault ? t(fault, { entry, ...counts }) : '';
    if (fault) return;
    this.gold = gold;
    this.drawLinkEditor();
    this.drawTable();
  }

  change(gold) {
    [this.gold, this.source] = [gold, null];
    this.field.value = writePharaoh(gold);
    this.error.textContent = this.status.textContent = '';
    this.drawLinkEditor();
    this.drawTable();
  }

  /** Links of the displayed head, from the next row's weights if the head is shifted. */
  headLinks() {
    const { layer, head } = this.view.updateSelection();
    const map = state.translation.map('cross', layer, head);
    const shift = isShiftedHead(state.translation, { kind: 'cross', layer, head }) ? 1 : 0;
    return new Map(findAttentionLinks(map, this.targets, this.sources, shift).map(([source, target]) => [`${source}-${target}`, true]));
  }

  useHeadLinks() {
    this.change(this.headLinks());
  }

  async copyLinks() {
    try {
      await navigator.clipboard.writeText(writePharaoh(this.headLinks()));
      this.status.textContent = t('links_copied');
    } catch {
      this.status.textContent = t('links_not_copied');
    }
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    const { translation } = state;
    this.summary.textContent = t('finder');
    if (!this.element.open || !translation.tensors.cross) return;
    this.sources = makeLinkUnits(translation.source, translation.source_text, this.unit === 'words');
    this.targets = makeLinkUnits(translation.target, translation.text, this.unit === 'words');
    if (this.translation !== translation) {
      this.translation = translation;
      this.gold = new Map();
      this.source = null;
      this.field.value = '';
    }
    this.description.textContent = t('finder_says');
    this.name.textContent = t('finder_links', { unit: t(`finder_${this.unit}`) });
    this.field.placeholder = '0-0 1-2p';
    const unitButton = (name) =>
      make(
        'button',
        { type: 'button', 'aria-pressed': String(name === this.unit), onclick: () => this.setUnit(name) },
        t(`finder_by_${name}`),
      );
    this.units.setAttribute('aria-label', t('finder_units'));
    replace(this.units, ...UNITS.map(unitButton));
    const isCross = state.kind === 'cross';
    const head = shortName(this.view.updateSelection());
    this.useLinksButton.textContent = t('finder_take', { head });
    this.copyButton.textContent = t('finder_copy', { head });
    this.useLinksButton.hidden = this.copyButton.hidden = !isCross;
    this.clearButton.textContent = t('finder_empty');
    this.file.draw();
    this.drawLinkEditor();
    this.drawTable();
  }

  /** Switches between words and tokens. This clears the links, which cannot be converted. */
  setUnit(unit) {
    if (unit === this.unit) return;
    this.unit = unit;
    [this.gold, this.source, this.field.value] = [new Map(), null, ''];
    this.draw();
  }

  drawLinkEditor() {
    const active = /** @type {HTMLElement} */ (document.activeElement);
    const focused = this.board.contains(active) ? [active.parentElement.dataset.side, active.dataset.place] : null;
    const { model } = state.translation;
    for (const [number, units] of [this.sources, this.targets].entries()) {
      const row = this.rows[number];
      row.lang = number ? model.target : model.source;
      row.setAttribute('aria-label', t(number ? 'side_target' : 'side_source'));
      replace(row, ...units.map((unit, index) => this.word(unit, index, number)));
    }
    if (focused) this.board.querySelector(`[data-side=${focused[0]}] [data-place="${focused[1]}"]`)?.focus({ preventScroll: true });
    this.drawLines();
  }

  word({ label }, index, number) {
    const linked = [...this.gold.keys()].some((name) => Number(name.split('-')[number]) === index);
    const isLinkedToSource = number === 1 && this.source !== null && this.gold.has(`${this.source}-${index}`);
    const isPressed = number === 0 ? this.source === index : isLinkedToSource;
    const attributes = {
      type: 'button',
      data: { place: index },
      'aria-pressed': String(isPressed),
      class: linked ? 'linked' : null,
      title: String(index),
    };
    return make('button', attributes, label);
  }

  drawLines() {
    const box = this.lines.getBoundingClientRect();
    if (!box.width) return;
    this.lines.setAttribute('viewBox', `0 0 ${box.width} ${box.height}`);
    const middle = (number, position) => {
      const word = this.rows[number].children[position]?.getBoundingClientRect();
      return word ? word.left + word.width / 2 - box.left : 0;
    };
    const edge = (number, index) => {
      const word = this.rows[number].children[index]?.getBoundingClientRect();
      return word ? (number ? word.top : word.bottom) - box.top : 0;
    };
    const line = ([name, sure]) => {
      const [source, target] = name.split('-').map(Number);
      const ends = { x1: middle(0, source), y1: edge(0, source), x2: middle(1, target), y2: edge(1, target) };
      return svg('line', { ...ends, class: sure ? 'sure' : 'possible' });
    };
    this.lines.replaceChildren(...[...this.gold].map(line));
  }

  drawTable() {
    const isEmpty = !this.gold.size;
    this.table.hidden = this.moreButton.hidden = isEmpty;
    this.explainButton.hidden = isEmpty || state.kind !== 'cross';
    if (isEmpty) return;
    const rankedHeads = rankHeads(state.translation, this.sources, this.targets, this.gold);
    const names = ['head', 'reading', 'rate', 'precision', 'recall', 'weight'];
    const head = make(
      'tr',
      {},
      ...names.map((name, index) => make('th', { scope: 'col', class: index < 2 ? 'name' : null }, t(`finder_${name}`))),
    );
    const row = ({ layer, head: number, shift, rate, precision, recall, weight }) => {
      const isSelected = state.kind === 'cross' && state.layer === layer && state.head === number;
      const button = make(
        'button',
        { type: 'button', data: { layer, head: number }, 'aria-pressed': String(isSelected) },
        shortName({ layer, head: number }),
      );
      const values = [rate, precision, recall, weight].map((value) => make('td', { class: 'numeric' }, twoDecimals(value)));
      return make(
        'tr',
        { class: isSelected ? 'chosen' : null },
        make('th', { scope: 'row' }, button),
        make('td', {}, t(shift ? 'finder_after' : 'finder_own')),
        ...values,
      );
    };
    const visibleHeads = this.showsAll ? rankedHeads : rankedHeads.slice(0, MAX_LISTED_HEADS);
    replace(
      this.table,
      make('caption', { class: 'hidden-text' }, t('finder')),
      make('thead', {}, head),
      make('tbody', {}, ...visibleHeads.map(row)),
    );
    this.explainButton.textContent = t('finder_explain', { head: shortName(this.view.updateSelection()) });
    this.moreButton.textContent = t(this.showsAll ? 'finder_less' : 'finder_all', { count: rankedHeads.length });
  }

  open(button) {
    if (button) this.show({ layer: Number(button.dataset.layer), head: Number(button.dataset.head) });
  }

  show(head) {
    if (state.kind !== 'cross') this.view.chooseKind('cross');
    this.view.callbacks.choose(head);
    this.draw();
  }
}
