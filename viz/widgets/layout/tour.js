// The tour: five steps, each with a ring around an element of the page and a card next to it.

import { prefersReducedMotion, make, replace, isTouch } from '../core/dom.js';
import { on, set, state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { computeCardPosition, fitsBelow, getBoundingBox, fitsBeside, computeScrollOffset, isVisible } from './popover-position.js';

const STORAGE_KEY = 'headlight-start';
const findInHeads = (selector) => document.querySelector(`#panel-heads ${selector}`);
const findRow = () => findInHeads('.rows .label.chosen') ?? findInHeads('.rows .label');
const extendToPlane = (label, plane) => (label && plane ? { x: plane.x, y: label.y, width: plane.width, height: label.height } : null);

/**
 * The steps. `getParts()` returns the elements of the target, and `getExtraBox()` one more rectangle. If the target and the card
 * do not fit into the window together, only the last part of the target is used.
 */
const STEPS = [
  { name: 'see', getParts: () => ['.translate .field', '.translate .out'].map((part) => document.querySelector(part)) },
  {
    name: 'row',
    getParts: () => [findRow()],
    getExtraBox: () => extendToPlane(findRow()?.getBoundingClientRect(), findInHeads('.plane')?.getBoundingClientRect()),
  },
  { name: 'head', getParts: () => [findInHeads('.wall-grid [aria-selected=true]') ?? findInHeads('.wall-grid .thumb')] },
  { name: 'kinds', getParts: () => [findInHeads('.kinds .choices')] },
  { name: 'try', getParts: () => [document.querySelector('.tabs')] },
];

// Events that the tour blocks, so that the pointer opens no terms or heads under the card. Clicks still work.
const POINTER_EVENTS = ['pointerover', 'pointerenter', 'pointermove', 'mouseover', 'mouseenter', 'mousemove'];
const TOUCH_STEPS = new Set(['head', 'try']); // steps whose text has a variant for touch screens

let doneThisVisit = false;

/** Whether the tour was finished or dismissed. Without localStorage, the next visit offers it again. */
export function isDone() {
  if (doneThisVisit) return true;
  try {
    return localStorage.getItem(STORAGE_KEY) !== null;
  } catch {
    return false;
  }
}

function markDone(outcome) {
  doneThisVisit = true;
  try {
    localStorage.setItem(STORAGE_KEY, outcome);
  } catch {
    // `doneThisVisit` applies until the page is closed.
  }
}

export class Tour {
  /** `onClose()` is called when the tour ends. */
  constructor(onClose) {
    this.onClose = onClose;
    this.stepIndex = -1;
    this.opener = null;
    this.frame = 0;
    this.ring = make('div', { class: 'headlight tour-ring', hidden: true, 'aria-hidden': 'true' });
    this.count = make('p', { class: 'quiet numeric' });
    this.title = make('h2', { id: 'tour-title' });
    this.text = make('p', { id: 'tour-text' });
    this.skip = make('button', { type: 'button', class: 'link', onclick: () => this.close('skipped') });
    this.back = make('button', { type: 'button', class: 'link', onclick: () => this.go(this.stepIndex - 1) });
    this.next = make('button', { type: 'button', class: 'go', onclick: () => this.go(this.stepIndex + 1) });
    this.learn = make('button', { type: 'button', class: 'link', onclick: () => this.openLearn() });
    const words = make('div', { 'aria-live': 'polite' }, this.count, this.title, this.text);
    const buttons = make('div', { class: 'buttons' }, this.skip, this.learn, this.back, this.next);
    const attributes = { role: 'dialog', 'aria-labelledby': 'tour-title', 'aria-describedby': 'tour-text', hidden: true };
    this.card = make('section', { class: 'headlight tour-card', ...attributes }, words, buttons);
    document.querySelector('.gradio-container').append(this.ring, this.card);
    window.addEventListener('keydown', (event) => this.onKeydown(event), { capture: true });
    for (const eventName of POINTER_EVENTS)
      window.addEventListener(eventName, (event) => this.isOpen && event.stopImmediatePropagation(), { capture: true });
    on(['language'], () => this.isOpen && this.draw());
    on(['tab'], () => this.isOpen && state.tab !== 'heads' && this.close('done'));
  }

  get isOpen() {
    return this.stepIndex >= 0;
  }

  start(opener) {
    this.opener = opener;
    set({ tab: 'heads', view: 'matrix', pinned: null });
    this.go(0);
    this.reposition();
  }

  go(index) {
    if (index >= STEPS.length) {
      this.close('done');
      return;
    }
    this.stepIndex = Math.max(0, index);
    this.draw();
    const ring = this.getRingBox();
    const { offsetHeight: height } = this.card;
    if (ring && !fitsBeside(ring, height))
      scrollBy({ top: computeScrollOffset(ring, height), behavior: prefersReducedMotion() ? 'auto' : 'smooth' });
    this.next.focus({ preventScroll: true });
  }

  draw() {
    const { name } = STEPS[this.stepIndex];
    const isLast = this.stepIndex === STEPS.length - 1;
    this.card.hidden = false;
    this.card.dataset.step = name;
    this.count.textContent = t('start_count', { number: this.stepIndex + 1, count: STEPS.length });
    this.title.textContent = t(`start_${name}_title`);
    this.text.textContent = t(isTouch() && TOUCH_STEPS.has(name) ? `start_${name}_says_touch` : `start_${name}_says`);
    this.skip.textContent = t('start_skip');
    this.back.textContent = t('start_back');
    this.learn.textContent = t('start_learn');
    this.next.textContent = t(isLast ? 'start_done' : 'start_next');
    this.skip.hidden = isLast;
    this.learn.hidden = !isLast || !document.getElementById('panel-learn');
    this.back.hidden = this.stepIndex === 0;
    this.position();
  }

  /** Repositions the ring and the card in every frame while the tour is open. */
  reposition() {
    this.frame = requestAnimationFrame(() => {
      if (!this.isOpen) return;
      this.position();
      this.reposition();
    });
  }

  /** The rectangle of the ring, around the target or its last part. */
  getRingBox() {
    const { getParts, getExtraBox } = STEPS[this.stepIndex];
    const rectangles = [...getParts().map((part) => part?.getBoundingClientRect()), getExtraBox?.()].filter(
      (rectangle) => rectangle?.width,
    );
    const box = getBoundingBox(rectangles);
    return box && (fitsBelow(box, this.card.offsetHeight) ? box : getBoundingBox(rectangles.slice(-1)));
  }

  position() {
    const ring = this.getRingBox();
    this.ring.hidden = !ring || !isVisible(ring);
    if (ring) setPixels(this.ring, { left: ring.x, top: ring.y, width: ring.width, height: ring.height });
    const { offsetWidth: width, offsetHeight: height } = this.card;
    setPixels(this.card, computeCardPosition(ring, { width, height }));
  }

  openLearn() {
    this.close('done');
    set({ tab: 'learn' });
    /** @type {HTMLElement | null} */ (document.querySelector('.tabs [aria-selected=true]'))?.focus();
  }

  close(outcome) {
    if (!this.isOpen) return;
    cancelAnimationFrame(this.frame);
    const hasFocus = this.card.contains(document.activeElement);
    this.stepIndex = -1;
    this.card.hidden = true;
    this.ring.hidden = true;
    markDone(outcome);
    this.onClose();
    if (hasFocus && this.opener?.isConnected) this.opener.focus(); // also scrolls the opener into view
  }

  /** Tab cycles within the card. */
  trapFocus(step) {
    const buttons = [...this.card.querySelectorAll('button')].filter((button) => !button.hidden);
    const focusedIndex = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    buttons[(focusedIndex + step + buttons.length) % buttons.length].focus({ preventScroll: true });
  }

  onKeydown(event) {
    if (!this.isOpen) return;
    const isInside = this.card.contains(event.target);
    const action = {
      Escape: () => this.close('skipped'),
      ArrowRight: isInside && (() => this.go(this.stepIndex + 1)),
      ArrowLeft: isInside && (() => this.go(this.stepIndex - 1)),
      Tab: isInside && (() => this.trapFocus(event.shiftKey ? -1 : 1)),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    action();
  }
}

/** Sets lengths of a style in pixels. */
function setPixels({ style }, lengths) {
  for (const [name, pixels] of Object.entries(lengths)) {
    const value = `${Math.round(pixels)}px`;
    if (style[name] !== value) style[name] = value;
  }
}

/** The link that offers the tour to new visitors. */
export function mountOffer(element, start) {
  const startButton = make('button', { type: 'button', class: 'link start', onclick: start }, t('start_here'));
  replace(element, make('span', {}, t('start_offer')), startButton);
}
