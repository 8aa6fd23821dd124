// The translation as tokens. Improbable tokens are underlined in grey; a click on a token lists its alternatives.

import { prefersReducedMotion, make, replace } from '../core/dom.js';
import { on, state } from '../core/state.js';
import { getTokenText } from '../core/translation.js';
import { fourDecimals, threeDecimals, twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';

const MIN_UNSHADED_PROBABILITY = 0.9; // probability from which tokens are not underlined

/** Colour of a token's underline, darker for less probable tokens. */
export function formatDoubtColour(probability) {
  if (probability === undefined || probability >= MIN_UNSHADED_PROBABILITY) return '';
  return `color-mix(in srgb, var(--ink) ${((64 * (MIN_UNSHADED_PROBABILITY - probability)) / MIN_UNSHADED_PROBABILITY).toFixed(1)}%, transparent)`;
}

export class TranslatedText {
  /** `choose(place, id)` is called when an alternative token is selected. */
  constructor(choose) {
    this.choose = choose;
    /** @type {any[]} */
    this.tokens = [];
    this.element = make('div', { class: 'text', 'aria-live': 'polite' });
    this.popup = make('div', { class: 'alternatives', role: 'listbox', hidden: true });
    this.listen();
    on(['written'], () => this.hideUnwritten());
  }

  /**
   * Shows the tokens written so far. Only new tokens are animated.
   * @param {any[]} tokens
   * @param {string} text
   * @param {{ forced?: number | null, language?: string }} options `forced`: number of tokens that the visitor chose
   */
  show(tokens, text, { forced = null, language = '' } = {}) {
    this.close();
    const previousIds = this.tokens.map((token) => token.id);
    this.tokens = tokens;
    this.element.lang = language;
    const nodes = [];
    let end = 0;
    for (const [index, token] of tokens.entries()) {
      if (token.special || token.piece > 0) continue;
      const last = token.pieces > 1 ? (tokens[index + token.pieces - 1] ?? token) : token;
      const hasGap = token.start > end && nodes.length > 0;
      if (hasGap) nodes.push(text.slice(end, token.start));
      const isJoined = nodes.length > 0 && !hasGap; // pieces of one word share an edge
      if (isJoined) nodes.at(-1).classList.add('joined');
      end = Math.max(end, last.end);
      const keys = tokens.slice(index, index + (token.pieces || 1)).map(({ key }) => key);
      const data = { place: index, ...(token.key ? { keys: keys.join(' ') } : {}) };
      const word = make('span', { class: 'word', role: 'button', tabindex: nodes.length ? -1 : 0, data }, getTokenText(token, text));
      word.style.setProperty('--doubt', formatDoubtColour(token.probability) || 'transparent');
      word.classList.toggle('joins', isJoined);
      word.classList.toggle('forced', forced === index);
      if (!prefersReducedMotion() && previousIds[index] !== token.id) word.classList.add('arrives');
      if (token.probability !== undefined)
        word.setAttribute(
          'aria-label',
          t('token_probability', { token: word.textContent.trim() || token.label, probability: twoDecimals(token.probability) }),
        );
      nodes.push(word);
    }
    replace(this.element, ...nodes);
    this.hideUnwritten();
  }

  /** While the player runs, hides words that are not written yet, without changing the layout. */
  hideUnwritten() {
    const count = state.written ?? Number.POSITIVE_INFINITY;
    for (const word of /** @type {NodeListOf<HTMLElement>} */ (this.element.querySelectorAll('.word')))
      word.classList.toggle('unwritten', Number(word.dataset.place) >= count);
  }

  listen() {
    const word = (event) => event.target.closest?.('.word');
    // In the Heads tab, the first click selects a word and the second one lists its alternatives.
    let wasSelected = false;
    this.element.addEventListener('pointerdown', (event) => {
      wasSelected = state.tab !== 'heads' || Boolean(word(event)?.classList.contains('chosen'));
    });
    this.element.addEventListener('click', (event) => {
      if (wasSelected && word(event) && word(event) !== this.opened) this.open(word(event));
      else this.close();
    });
    this.element.addEventListener('keydown', (event) => this.key(event, word(event)));
    this.popup.addEventListener('keydown', (event) => this.popupKey(event));
    // Before the page's own Escape, which would also unpin the word.
    document.addEventListener(
      'keydown',
      (event) => {
        if (event.key !== 'Escape' || this.popup.hidden || this.popup.contains(event.target)) return;
        event.stopPropagation();
        this.close();
      },
      { capture: true },
    );
    document.addEventListener('pointerdown', (event) => {
      if (!this.popup.contains(event.target) && !word(event)) this.close();
    });
  }

  open(word) {
    const index = Number(word.dataset.place);
    const token = this.tokens[index];
    if (!token?.alternatives) return;
    if (this.opened !== word) this.opened?.removeAttribute('aria-expanded');
    this.opened = word;
    word.setAttribute('aria-expanded', 'true');
    const others = token.alternatives.filter(([, id]) => id !== token.id);
    const row = (text, probability, id) => {
      const bar = make('span', { class: 'bar' }, make('i', { style: `width:${Math.max(1, probability * 100)}%` }));
      const attributes = { type: 'button', role: 'option', disabled: id === null, 'aria-selected': String(id === null) };
      const button = make(
        'button',
        attributes,
        make('bdi', {}, text || '␣'),
        bar,
        make('span', { class: 'numeric', title: fourDecimals(probability) }, threeDecimals(probability)),
      );
      if (id !== null) button.addEventListener('click', () => this.choose(index, id));
      return button;
    };
    replace(
      this.popup,
      make('div', { class: 'caption' }, t('alternatives')),
      row(token.label, token.probability, null),
      ...others.map(([text, id, probability]) => row(text, probability, id)),
    );
    this.popup.hidden = false;
    const box = word.getClientRects()[0];
    const frame = this.popup.offsetParent?.getBoundingClientRect() ?? { left: 0, top: 0 };
    const left = Math.max(8, Math.min(document.documentElement.clientWidth - this.popup.offsetWidth - 8, box.left - 16));
    this.popup.style.left = `${left - frame.left}px`;
    this.popup.style.top = `${box.bottom + 4 - frame.top}px`;
  }

  close() {
    this.popup.hidden = true;
    this.opened?.removeAttribute('aria-expanded');
    this.opened = null;
  }

  key(event, word) {
    if (!word) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.open(word);
      this.popup.querySelector('button:not(:disabled)')?.focus();
    }
    const words = [...this.element.querySelectorAll('.word')];
    const next = words[words.indexOf(word) + ({ ArrowRight: 1, ArrowLeft: -1 }[event.key] ?? 0)];
    if (next && next !== word) {
      event.preventDefault();
      event.stopPropagation();
      word.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    }
    if (event.key === 'Escape') this.close();
  }

  popupKey(event) {
    const buttons = [...this.popup.querySelectorAll('button:not(:disabled)')];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      event.stopPropagation();
      buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length]?.focus();
    }
    if (event.key === 'Escape') {
      event.stopPropagation();
      const word = this.opened;
      this.close();
      word?.focus();
    }
  }
}
