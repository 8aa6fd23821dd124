// The list of saved views: order, titles, notes, import and export.

import { icon, make, replace } from '../core/dom.js';
import { on } from '../core/state.js';
import { t } from '../core/i18n.js';
import { copyText, saveBytes } from '../parts/save.js';
import { LIMITS, toFile, fromFile, encodeViews, read } from './saved-views.js';

const ICONS = { up: 'M9 14V4M5 8l4-4 4 4', down: 'M9 4v10M5 10l4 4 4-4', remove: 'M5 5l8 8M13 5l-8 8', show: 'M5 3.500l9 5.500-9 5.500z' };
const MAX_FILE_BYTES = 1_000_000;

export class Panel {
  /** @param {any} deck deck.js */
  constructor(deck) {
    this.deck = deck;
    this.isSaved = true; // whether localStorage has the views
    this.opener = null;
    this.title = make('h2', { id: 'deck-title' });
    this.closeButton = this.iconButton('remove', () => this.close());
    this.description = make('p', { class: 'quiet' });
    this.guest = make('div', { class: 'deck-guest', role: 'status' });
    this.saveButton = make('button', { type: 'button', class: 'link', onclick: () => this.deck.save() });
    this.presentButton = make('button', { type: 'button', class: 'go', onclick: () => this.deck.present(0) });
    this.list = make('ol', { class: 'deck-list' });
    this.list.addEventListener('keydown', (event) => this.onKeydown(event));
    this.actions = make('div', { class: 'deck-ways' });
    this.fileInput = make('input', { type: 'file', accept: '.json,application/json', hidden: true });
    this.fileInput.addEventListener('change', () => this.read());
    this.status = make('p', { class: 'quiet deck-status', role: 'status' });
    const head = make('div', { class: 'deck-head' }, this.title, this.closeButton);
    const mainActions = make('div', { class: 'deck-ways' }, this.presentButton, this.saveButton);
    const parts = [head, this.description, this.guest, mainActions, this.list, this.status, this.actions, this.fileInput];
    this.element = make('dialog', { class: 'headlight deck-panel', 'aria-labelledby': 'deck-title' }, ...parts);
    this.element.addEventListener('click', (event) => event.target === this.element && this.close()); // on the backdrop
    document.querySelector('.gradio-container').append(this.element);
    on(['language'], () => this.draw());
  }

  open() {
    this.status.textContent = '';
    this.draw();
    if (!this.element.open) this.element.showModal();
  }

  close() {
    if (this.element.open) this.element.close();
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    const { views, isGuest } = this.deck;
    this.title.textContent = t('saved_views');
    this.setLabel(this.closeButton, 'deck_close');
    this.description.textContent = t(
      views.length ? (isGuest ? 'deck_says_guest' : this.isSaved ? 'deck_says' : 'deck_not_kept') : 'deck_none',
    );
    this.presentButton.textContent = t('deck_show');
    this.presentButton.hidden = !views.length;
    this.saveButton.textContent = t('deck_save');
    this.saveButton.hidden = isGuest;
    this.drawReceived();
    replace(this.list, ...views.map((view, index) => this.row(view, index)));
    const makeLink = (word, onClick) => make('button', { type: 'button', class: 'link', onclick: onClick }, t(word));
    replace(
      this.actions,
      ...(views.length ? [makeLink('deck_link', () => this.copy()), makeLink('deck_file', () => this.download())] : []),
      makeLink('deck_open', () => this.fileInput.click()),
    );
  }

  /** Draws the choices for received views: add them, replace the visitor's own views, or discard them. */
  drawReceived() {
    const { deck } = this;
    this.guest.hidden = !deck.isGuest;
    if (!deck.isGuest) return;
    const makeLink = (word, onClick) => make('button', { type: 'button', class: 'link', onclick: onClick }, t(word));
    const own = read().length;
    replace(
      this.guest,
      make('p', {}, t(own ? 'deck_guest' : 'deck_guest_none', { count: deck.views.length, own })),
      make(
        'div',
        { class: 'deck-ways' },
        makeLink('deck_guest_add', () => deck.mergeViews(true)),
        own ? makeLink('deck_guest_replace', () => deck.mergeViews(false)) : null,
        makeLink(own ? 'deck_guest_leave' : 'deck_guest_close', () => deck.showOwnViews()),
      ),
    );
  }

  row(view, index) {
    const number = index + 1;
    const title = make('input', { type: 'text', maxlength: LIMITS.title, 'aria-label': t('deck_title_of', { number }) });
    title.value = view.title;
    title.addEventListener('input', () => this.deck.write(index, { title: title.value }));
    const note = make('textarea', { rows: 2, maxlength: LIMITS.note, 'aria-label': t('deck_note_of', { number }) });
    note.placeholder = t('deck_note');
    note.value = view.note;
    note.addEventListener('input', () => this.deck.write(index, { note: note.value }));
    const last = this.deck.views.length - 1;
    const actionButton = (sign, onClick, disabled = false) => {
      const button = this.iconButton(sign, onClick);
      button.dataset.act = sign;
      button.disabled = disabled;
      this.setLabel(button, `deck_view_${sign}`, number);
      return button;
    };
    const actions = make(
      'div',
      { class: 'deck-acts' },
      actionButton('show', () => this.deck.present(index)),
      actionButton('up', () => this.move(index, -1, 'up'), index === 0),
      actionButton('down', () => this.move(index, 1, 'down'), index === last),
      actionButton('remove', () => this.remove(index)),
    );
    const words = make('div', { class: 'deck-words' }, title, note);
    return make(
      'li',
      { data: { place: index } },
      make('span', { class: 'numeric', 'aria-hidden': 'true' }, String(number)),
      words,
      actions,
    );
  }

  iconButton(sign, onClick) {
    const path = sign === 'show' ? { d: ICONS.show, fill: 'currentColor', stroke: 'none' } : ICONS[sign];
    return make('button', { type: 'button', class: 'round', onclick: onClick }, icon(18, [path], { width: 1.6 }));
  }

  setLabel(button, word, number = 0) {
    for (const attribute of ['aria-label', 'title']) button.setAttribute(attribute, t(word, { number }));
  }

  // ---------------------------------------------------------------- actions

  /** Moves a view. The focus moves with it, to the control that `part` names. */
  move(index, step, part) {
    const target = Math.max(0, Math.min(this.deck.views.length - 1, index + step));
    if (target === index) return;
    this.deck.move(index, step);
    const row = this.list.children[target];
    const control = /** @type {any} */ (row.querySelector(part.length > 4 ? part : `[data-act=${part}]`));
    if (control.disabled) /** @type {any} */ (row.querySelector('[data-act]:is([data-act=up], [data-act=down]):not(:disabled)')).focus();
    else control.focus();
    this.status.textContent = t('deck_moved', { number: target + 1, count: this.deck.views.length });
  }

  /** Alt+arrow moves the focused view, also while its title or note is edited. */
  onKeydown(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const row = event.target.closest('li');
    if (!step || !event.altKey || !row) return;
    event.preventDefault();
    const { act } = event.target.dataset;
    this.move(Number(row.dataset.place), step, act ?? event.target.localName);
  }

  remove(index) {
    const { title } = this.deck.views[index];
    this.deck.remove(index);
    const undo = () => {
      this.deck.undo();
      this.status.textContent = '';
      /** @type {any} */ (this.list.children[index])?.querySelector('[data-act=remove]').focus();
    };
    const undoButton = make('button', { type: 'button', class: 'link', onclick: undo }, t('deck_undo'));
    replace(this.status, t('deck_removed', { title }), ' ', undoButton);
    undoButton.focus();
  }

  // ---------------------------------------------------------------- import and export

  async copy() {
    const address = new URL(`#deck=${await encodeViews(this.deck.views)}`, location.href).href;
    await this.showOutcome(() => copyText(address, this.element), 'deck_link_copied');
  }

  download() {
    saveBytes('headlight-deck.json', [toFile(this.deck.views)], 'application/json');
    this.status.textContent = t('deck_file_saved');
  }

  async read() {
    const [file] = this.fileInput.files;
    this.fileInput.value = '';
    const views = file && file.size <= MAX_FILE_BYTES ? fromFile(await file.text()) : null;
    if (views) this.deck.receiveViews(views);
    else this.status.textContent = t('deck_bad_file', { name: file?.name ?? '' });
  }

  async showOutcome(action, message) {
    try {
      await action();
      this.status.textContent = t(message);
    } catch (error) {
      console.warn(error);
      this.status.textContent = t('not_saved');
    }
  }
}
