// A message at the bottom of the page, with a button that opens the saved views.

import { make, replace } from '../core/dom.js';
import { t } from '../core/i18n.js';

const DURATION_MS = 6000; // milliseconds until the message disappears

export class Toast {
  constructor(onOpen) {
    this.onOpen = onOpen;
    this.timer = 0;
    this.element = make('div', { class: 'headlight deck-toast', role: 'status' });
    document.querySelector('.gradio-container').append(this.element);
  }

  show(word, values = {}) {
    clearTimeout(this.timer);
    const link = make('button', { type: 'button', class: 'link', onclick: () => this.onOpen() }, t('saved_views'));
    replace(this.element, t(word, values), ' ', link);
    this.timer = window.setTimeout(() => this.element.contains(document.activeElement) || this.hide(), DURATION_MS);
  }

  hide() {
    clearTimeout(this.timer);
    replace(this.element);
  }
}
