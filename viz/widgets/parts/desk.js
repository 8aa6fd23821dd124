// The sentence and its translation above the views. The See view fills headline, ribbons and player; the Change view
// fills a second headline and the translations before and after the change.

import { make } from '../core/dom.js';

/** @type {ReturnType<typeof build> | null} */
let deskElements = null;
/** @type {() => void} */
let resolveForm = () => {};

/** Resolves when the translate form has mounted. Gradio mounts the page's widgets in any order. */
export const formMounted = new Promise((resolve) => {
  resolveForm = () => resolve(undefined);
});

/** Adds the elements of the translate form. */
export function setForm(elements) {
  Object.assign(desk(), elements);
  resolveForm();
}

/** The desk's elements, created once per page. */
export function desk() {
  deskElements ??= build();
  return deskElements;
}

function build() {
  return {
    headline: make('p', { class: 'headline' }),
    ribbons: make('div', { class: 'ribbons', 'aria-hidden': 'true' }),
    player: make('div', { class: 'player-place' }),
    change: make('p', { class: 'headline change', 'aria-live': 'polite' }),
    before: make('p', { class: 'before-change' }),
    after: make('p', { class: 'after-change' }),
    /** The root of the translate form; null on a page without it. @type {HTMLElement | null} */
    root: null,
    /**
     * The element with the words of each sentence.
     * @type {{ source: HTMLElement | null, target: HTMLElement | null }}
     */
    sentences: { source: null, target: null },
    /** The sentence field. @type {HTMLTextAreaElement | null} */
    field: null,
  };
}

const WORD_SELECTOR = '[data-keys]';

/** All words of both sentences, each with the keys of its tokens. */
export function listDeskWords() {
  const { source, target } = desk().sentences;
  const getWords = (sentence) => /** @type {HTMLElement[]} */ ([...(sentence?.querySelectorAll(WORD_SELECTOR) ?? [])]);
  return [...getWords(source), ...getWords(target)];
}

/**
 * The word under the pointer. The field receives the pointer events of the source words that are drawn over it.
 * @param {PointerEvent | MouseEvent} event
 * @returns {HTMLElement | null}
 */
export function findDeskWord(event) {
  const { field, sentences } = desk();
  const target = /** @type {HTMLElement} */ (event.target);
  if (target !== field) return sentences.target?.contains(target) ? target.closest(WORD_SELECTOR) : null;
  const isInside = ({ left, right, top, bottom }) =>
    event.clientX >= left && event.clientX <= right && event.clientY >= top && event.clientY <= bottom;
  const words = /** @type {HTMLElement[]} */ ([...(sentences.source?.querySelectorAll(WORD_SELECTOR) ?? [])]);
  return words.find((word) => [...word.getClientRects()].some(isInside)) ?? null;
}
