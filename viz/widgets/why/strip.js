// The tokens of one side as radio buttons, to choose the query or the key among them.

import { make, replace } from '../core/dom.js';

const LONG = 44; // tokens: beyond, a strip scrolls by itself

export class Strip {
  /** `axis` is row or column; `choose(place)`: one of its tokens was chosen. */
  constructor(axis, choose) {
    this.who = make('div', { class: 'who', id: `why-${axis}` });
    this.tokens = make('div', { class: 'strip', role: 'radiogroup', 'aria-labelledby': this.who.id });
    this.element = make('div', {}, this.who, this.tokens);
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

  name(says, language) {
    this.who.textContent = says;
    this.tokens.lang = language;
  }

  /** NaN among the weights marks what may not be looked at. */
  draw(tokens, chosen, weights = null) {
    const { tokens: element } = this;
    const focused = element.contains(document.activeElement);
    element.classList.toggle('long', tokens.length > LONG);
    const buttons = tokens.map((token, place) => {
      const classes = ['token', token.special && 'special', weights && weights[place] !== weights[place] && 'masked'];
      const about = { type: 'button', role: 'radio', 'aria-checked': String(place === chosen), tabindex: place === chosen ? 0 : -1 };
      return make('button', { ...about, class: classes.filter(Boolean).join(' '), data: { place } }, make('bdi', {}, token.label));
    });
    replace(element, ...buttons);
    const at = buttons[chosen];
    if (focused) at?.focus({ preventScroll: true });
    if (at && element.scrollHeight > element.clientHeight) element.scrollTop = at.offsetTop - element.clientHeight / 2;
  }
}
