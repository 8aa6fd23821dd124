// Card with the definition of a term, opened by hover, focus or tap.

import { make, replace } from '../core/dom.js';
import { pageZoom } from '../core/page-zoom.js';
import { on } from '../core/state.js';
import { t } from '../core/i18n.js';

const OPEN_DELAY_MS = 160; // hover delay before the card opens
const CLOSE_DELAY_MS = 220; // time to move the pointer from the term to the card
const GAP = 8; // pixels between the term and the card, and between the card and the window's edge

export class TermCard {
  constructor() {
    this.term = null; // the element whose term is explained
    this.isPinned = false; // whether the card was opened by a tap or a key, so that it stays when the pointer leaves
    this.timer = 0;
    this.element = make('div', { class: 'headlight term-card', 'aria-hidden': 'true', hidden: true });
    this.meanings = make('div', { hidden: true }); // the accessible description of a term
    document.querySelector('.gradio-container').append(this.element, this.meanings);
    const findTerm = (event) => event.target.closest?.('.term, [data-explains]');
    const isInCard = (event) => this.element.contains(event.target);
    document.addEventListener('pointerover', (event) => {
      if (event.pointerType === 'touch') return;
      const term = findTerm(event);
      if (term) this.schedule(() => this.open(term, false), this.term ? 0 : OPEN_DELAY_MS);
      else if (isInCard(event)) clearTimeout(this.timer);
      else if (!this.isPinned) this.schedule(() => this.close(), CLOSE_DELAY_MS);
    });
    document.addEventListener('focusin', (event) => {
      const term = findTerm(event);
      if (term?.matches(':focus-visible, .term')) this.open(term, false);
      else if (!isInCard(event)) this.close();
    });
    document.addEventListener('click', (event) => {
      const term = /** @type {any} */ (event.target).closest('.term'); // not `data-explains`: buttons keep their action
      if (term) this.press(term, event);
      else if (!isInCard(event)) this.close();
    });
    window.addEventListener('keydown', (event) => this.key(event), { capture: true });
    addEventListener('scroll', () => this.updatePosition(), { capture: true, passive: true });
    addEventListener('resize', () => this.updatePosition());
    on(['language'], () => {
      this.close();
      replace(this.meanings);
    });
  }

  /** Adds the accessible description of a term. */
  describe(term, description) {
    const id = `term-${term}`;
    if (!document.getElementById(id)) this.meanings.append(make('span', { id }, description));
  }

  schedule(callback, pause) {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(callback, pause);
  }

  press(target, event) {
    event.preventDefault();
    event.stopPropagation();
    if (this.term === target && this.isPinned) this.close();
    else this.open(target, true);
  }

  key(event) {
    if (event.key === 'Escape' && this.term) this.close();
    else if ((event.key === 'Enter' || event.key === ' ') && event.target.matches?.('.term')) this.press(event.target, event);
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  open(target, isPinned) {
    clearTimeout(this.timer);
    if (!target.isConnected) return;
    this.term = target;
    this.isPinned = isPinned;
    const term = target.dataset.term ?? target.dataset.explains;
    replace(this.element, make('b', {}, t(`term_${term}`)), make('p', {}, t(`term_${term}_says`)));
    this.element.hidden = false;
    this.updatePosition();
  }

  close() {
    clearTimeout(this.timer);
    this.term = null;
    this.isPinned = false;
    this.element.hidden = true;
  }

  /** Places the card below the term, or above it if the space below is too small. */
  updatePosition() {
    if (!this.term) return;
    if (!this.term.isConnected) {
      this.close();
      return;
    }
    const box = this.term.getClientRects()[0] ?? { left: 0, top: -1, bottom: -1 };
    const [left, top, bottom, windowHeight] = [box.left, box.top, box.bottom, innerHeight].map((item) => item / pageZoom());
    if (bottom < 0 || top > windowHeight) {
      this.close();
      return;
    }
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const fitsBelow = bottom + GAP + height <= windowHeight || top < height + GAP;
    const position = {
      left: Math.max(GAP, Math.min(left, document.documentElement.clientWidth - width - GAP)),
      top: fitsBelow ? bottom + GAP : top - GAP - height,
    };
    Object.assign(this.element.style, { left: `${position.left}px`, top: `${position.top}px` });
  }
}
