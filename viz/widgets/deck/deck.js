// Saved views as a deck: kept, arranged, shown one after the other. All that changes it is here; the panel and the beamer draw it.

import { writeLink } from '../core/link.js';
import { set } from '../core/state.js';
import { Beamer } from './beamer.js';
import { titleNow } from './named.js';
import { Panel } from './panel.js';
import { Toast } from './toast.js';
import { MOST, deckOf, moved, read, unpacked, write } from './views.js';

let made = null;

/** The permalink of the current view, without the language. */
function hashNow() {
  const values = new URLSearchParams(writeLink().slice(1));
  values.delete('language');
  return `#${values}`;
}

/** The one deck of the page. */
export function mount() {
  made ??= new Deck();
  return made;
}

class Deck {
  constructor() {
    this.views = read();
    this.guest = false; // these views came from a link or a file; the visitor's own views are kept separately
    this.removed = null; // the view that was removed last, and its place
    this.beamer = new Beamer(this);
    this.panel = new Panel(this);
    this.toast = new Toast(() => this.open());
    addEventListener('storage', () => {
      if (this.guest) return;
      this.views = read(); // another tab of the browser saved one
      this.changed(false);
    });
  }

  /** Append the current view. */
  save() {
    if (this.guest) this.own();
    if (this.views.length >= MOST.views) {
      this.toast.tell('deck_full', { count: MOST.views });
      return;
    }
    const hash = hashNow();
    if (hash.length > MOST.hash) {
      this.toast.tell('deck_too_long');
      return;
    }
    this.put([...this.views, { title: titleNow(), note: '', hash }]);
    this.toast.tell('deck_saved', { number: this.views.length });
  }

  put(views) {
    this.views = views;
    this.changed();
  }

  move(place, by) {
    this.put(moved(this.views, place, by));
  }

  remove(place) {
    this.removed = { view: this.views[place], place };
    this.put(this.views.filter((_, at) => at !== place));
  }

  undo() {
    const { removed, views } = this;
    this.removed = null;
    if (!removed || views.length >= MOST.views) return; // views saved since then keep their place
    this.put([...views.slice(0, removed.place), removed.view, ...views.slice(removed.place)]);
  }

  /** A title or a note changed. The list is not rendered again while the visitor types. */
  write(place, changes) {
    this.views = this.views.map((view, at) => (at === place ? { ...view, ...changes } : view));
    this.keep();
  }

  keep() {
    if (!this.guest) this.panel.kept = write(this.views);
    set({ savedViews: this.guest ? read().length : this.views.length });
  }

  changed(keep = true) {
    if (keep) this.keep();
    this.panel.draw();
  }

  // ---------------------------------------------------------------- views of others

  /** Show views from a link or file; save them on confirmation, or if the visitor has no views. */
  take(views) {
    this.removed = null;
    this.guest = read().length > 0;
    this.views = views;
    this.changed();
    this.open();
  }

  /** Add the received views to the visitor's own, or replace them. */
  adopt(added) {
    const all = added ? [...read(), ...this.views] : this.views;
    this.guest = false;
    this.removed = null;
    this.put(all.slice(0, MOST.views));
  }

  /** The visitor's own again. */
  own() {
    this.guest = false;
    this.removed = null;
    this.put(read());
  }

  /** The deck of an address, if it has one. */
  async follow(hash) {
    const views = await unpacked(deckOf(hash));
    if (views) this.take(views);
    else this.toast.tell('deck_bad_link');
  }

  open() {
    this.toast.hide();
    this.panel.open();
  }

  show(place) {
    this.panel.close();
    this.toast.hide();
    this.beamer.start(place);
  }
}
