// Radio buttons of tokens, to select the query.

import { make, replace } from '../core/dom.js';

export class TokenRadio {
  /** `choose(index)` is called when a token is selected. */
  constructor(choose) {
    this.label = make('div', { class: 'who', id: 'why-row' });
    this.tokens = make('div', { class: 'strip', role: 'radiogroup', 'aria-labelledby': this.label.id });
    this.element = make('div', { class: 'pick' }, this.label, this.tokens);
    this.tokens.addEventListener('click', (event) => {
      const token = event.target.closest('[data-place]');
      if (token) choose(Number(token.dataset.place));
    });
    this.tokens.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const token = event.target.closest('[data-place]');
      if (!step || !token) return;
      event.preventDefault();
      event.stopPropagation();
      const count = this.tokens.children.length;
      choose((Number(token.dataset.place) + step + count) % count);
      this.tokens.querySelector('[aria-checked=true]').focus({ preventScroll: true });
    });
  }

  /** Sets the label of the group, and the language of the tokens. */
  setLabel(label, language) {
    this.label.textContent = label;
    this.tokens.lang = language;
  }

  draw(tokens, selectedIndex) {
    const { tokens: element } = this;
    const focused = element.contains(document.activeElement);
    const buttons = tokens.map((token, index) => {
      const attributes = {
        type: 'button',
        role: 'radio',
        'aria-checked': String(index === selectedIndex),
        tabindex: index === selectedIndex ? 0 : -1,
      };
      const name = make('bdi', {}, token.label);
      return make('button', { ...attributes, class: token.special ? 'token special' : 'token', data: { place: index } }, name);
    });
    replace(element, ...buttons);
    if (focused) buttons[selectedIndex]?.focus({ preventScroll: true });
  }
}
