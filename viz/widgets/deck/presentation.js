// Presentation: one view at a time, enlarged for a projector, with its note below.

import { make, updateScrollable, isTextField } from '../core/dom.js';
import { on, set } from '../core/state.js';
import { t } from '../core/i18n.js';
import { stepButtons } from '../parts/step-buttons.js';

const DESIGN_WIDTH = 1024; // page width in pixels that is scaled to the window's width
const MAX_ZOOM = 1.75;

export class Presentation {
  /** @param {any} deck deck.js */
  constructor(deck) {
    this.deck = deck;
    this.index = -1;
    /** @type {HTMLElement | null} */
    this.opener = null;
    const [previous, next] = stepButtons((step) => this.go(this.index + step));
    this.previous = previous;
    this.next = next;
    this.count = make('span', { class: 'numeric' });
    this.title = make('h2', {});
    this.note = make('p', {});
    this.exitButton = make('button', { type: 'button', class: 'link', onclick: () => this.exit() });
    const words = make('div', { class: 'beamer-words', 'aria-live': 'polite' }, this.title, this.note);
    this.updateNoteScrolling = updateScrollable(words, 'Height');
    const navigation = make('div', { class: 'beamer-ways' }, this.previous, this.next, this.count);
    this.element = make('section', { class: 'headlight beamer-bar', hidden: true }, navigation, words, this.exitButton);
    document.querySelector('.gradio-container').append(this.element);
    window.addEventListener('keydown', (event) => this.onKeydown(event), { capture: true });
    new ResizeObserver(() => this.fitAboveBar()).observe(this.element);
    addEventListener('resize', () => this.isOpen && this.applyZoom());
    on(['language'], () => this.isOpen && this.draw());
  }

  get isOpen() {
    return this.index >= 0;
  }

  start(index) {
    this.opener = /** @type {HTMLElement | null} */ (document.activeElement);
    document.documentElement.classList.add('beamer');
    this.element.hidden = false;
    this.applyZoom();
    set({ beamer: true });
    this.go(index);
    this.next.focus({ preventScroll: true });
  }

  /** Enlarges the page as far as the width that its layout needs still fits. */
  applyZoom() {
    document.documentElement.style.zoom = String(Math.max(1, Math.min(MAX_ZOOM, innerWidth / DESIGN_WIDTH)));
  }

  go(index) {
    const { views } = this.deck;
    if (index < 0 || index >= views.length) return;
    this.index = index;
    const { hash } = views[index];
    if (location.hash !== hash) location.replace(hash); // the page loads its URL hash; `replace` adds no history entry
    this.draw();
    scrollTo(0, 0);
    document.querySelector('#panel-heads .stage')?.scrollTo(0, 0);
  }

  draw() {
    const { views } = this.deck;
    const { title, note } = views[this.index];
    this.title.textContent = title;
    this.note.textContent = note;
    this.note.hidden = !note;
    this.updateNoteScrolling();
    this.count.textContent = `${this.index + 1} / ${views.length}`;
    this.element.setAttribute('aria-label', t('saved_views'));
    this.exitButton.textContent = t('deck_leave');
    for (const [button, word, end] of [
      [this.previous, 'deck_back', 0],
      [this.next, 'deck_next', views.length - 1],
    ]) {
      for (const attribute of ['aria-label', 'title']) button.setAttribute(attribute, t(word));
      button.setAttribute('aria-disabled', String(this.index === end)); // `disabled` would remove the focus
    }
  }

  /** Set the height of the bar for CSS, so that the view ends above it. */
  fitAboveBar() {
    document.documentElement.style.setProperty('--beamer-bar', `${this.isOpen ? this.element.offsetHeight : 0}px`);
  }

  exit() {
    if (!this.isOpen) return;
    this.index = -1;
    this.element.hidden = true;
    document.documentElement.classList.remove('beamer');
    document.documentElement.style.zoom = '';
    set({ beamer: false });
    const isVisible = this.opener?.isConnected && this.opener.checkVisibility();
    if (isVisible) this.opener.focus();
    else dispatchEvent(new CustomEvent('headlight-deck', { detail: 'focus' }));
  }

  /** Whether the focused text field handles the key. Escape always ends the presentation. */
  isForTextField({ key, target }) {
    if (!isTextField(target)) return false;
    const isTyping = target.tagName === 'TEXTAREA' || /^(text|search|number)$/.test(target.type);
    return isTyping ? key !== 'Escape' : !['Escape', 'PageDown', 'PageUp'].includes(key);
  }

  onKeydown(event) {
    if (!this.isOpen || event.ctrlKey || event.metaKey || event.altKey || this.isForTextField(event)) return;
    const action = {
      ArrowRight: () => this.go(this.index + 1),
      ArrowLeft: () => this.go(this.index - 1),
      PageDown: () => this.go(this.index + 1), // keys of a presentation clicker
      PageUp: () => this.go(this.index - 1),
      Home: () => this.go(0),
      End: () => this.go(this.deck.views.length - 1),
      Escape: () => this.exit(),
    }[event.key];
    if (!action || document.querySelector('dialog[open]')) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    action();
  }
}
