// The deck of saved views and the methods that change it. The panel and the presentation draw it.

import { formatPermalink } from '../core/permalink.js';
import { set } from '../core/state.js';
import { Presentation } from './presentation.js';
import { makeDefaultTitle } from './default-title.js';
import { Panel } from './panel.js';
import { Toast } from './toast.js';
import { LIMITS, getDeckInLink, moveItem, read, decodeViews, write } from './saved-views.js';

let deck = null;

/** The permalink of the current view, without the language. */
function getCurrentHash() {
  const values = new URLSearchParams(formatPermalink().slice(1));
  values.delete('language');
  return `#${values}`;
}

/** Returns the deck of the page, created on the first call. */
export function mount() {
  deck ??= new Deck();
  return deck;
}

class Deck {
  constructor() {
    this.views = read();
    this.isGuest = false; // whether these views came from a link or a file; localStorage then has the visitor's own views
    this.removedView = null; // the last removed view and its index, for undo
    this.presentation = new Presentation(this);
    this.panel = new Panel(this);
    this.toast = new Toast(() => this.open());
    addEventListener('storage', () => {
      if (this.isGuest) return;
      this.views = read(); // another browser tab changed the views
      this.onChange(false);
    });
  }

  /** Append the current view. */
  save() {
    if (this.isGuest) this.showOwnViews();
    if (this.views.length >= LIMITS.views) {
      this.toast.show('deck_full', { count: LIMITS.views });
      return;
    }
    const hash = getCurrentHash();
    if (hash.length > LIMITS.hash) {
      this.toast.show('deck_too_long');
      return;
    }
    this.setViews([...this.views, { title: makeDefaultTitle(), note: '', hash }]);
    this.toast.show('deck_saved', { number: this.views.length });
  }

  setViews(views) {
    this.views = views;
    this.onChange();
  }

  move(index, step) {
    this.setViews(moveItem(this.views, index, step));
  }

  remove(position) {
    this.removedView = { view: this.views[position], index: position };
    this.setViews(this.views.filter((_, index) => index !== position));
  }

  undo() {
    const { removedView, views } = this;
    this.removedView = null;
    if (!removedView || views.length >= LIMITS.views) return; // views saved in the meantime took the last free slot
    this.setViews([...views.slice(0, removedView.index), removedView.view, ...views.slice(removedView.index)]);
  }

  /** Stores a changed title or note. The list is not redrawn, because the visitor is typing. */
  write(position, changes) {
    this.views = this.views.map((view, index) => (index === position ? { ...view, ...changes } : view));
    this.persist();
  }

  persist() {
    if (!this.isGuest) this.panel.isSaved = write(this.views);
    set({ savedViews: (this.isGuest && read().length) || this.views.length });
  }

  onChange(persist = true) {
    if (persist) this.persist();
    this.panel.draw();
  }

  // ---------------------------------------------------------------- received views

  /**
   * Shows views from a link or file. They are saved when the visitor adds them. If the visitor's own list is empty, they are
   * saved at once, except those of a lesson plan (`isPlan`).
   */
  receiveViews(views, isPlan = false) {
    this.removedView = null;
    this.isGuest = isPlan || read().length > 0;
    this.views = views;
    this.onChange();
    this.open();
  }

  /** Add the received views to the visitor's own, or replace them. */
  mergeViews(keepOwn) {
    const views = keepOwn ? [...read(), ...this.views] : this.views;
    this.isGuest = false;
    this.removedView = null;
    this.setViews(views.slice(0, LIMITS.views));
  }

  /** Restore the visitor's own views. */
  showOwnViews() {
    this.isGuest = false;
    this.removedView = null;
    this.setViews(read());
  }

  /** Receive the deck of a permalink, or show an error. */
  async follow(hash) {
    const views = await decodeViews(getDeckInLink(hash));
    if (views) this.receiveViews(views);
    else this.toast.show('deck_bad_link');
  }

  open() {
    this.toast.hide();
    this.panel.open();
  }

  present(index) {
    this.panel.close();
    this.toast.hide();
    this.presentation.start(index);
  }
}
