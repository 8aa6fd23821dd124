// What a teacher takes along from a step: its link, as it is or with the answers hidden.

import { make, replace } from '../core/dom.js';
import { writeLink } from '../core/link.js';
import { t } from '../core/words.js';
import { copyText } from '../parts/takeaway.js';
import { writeChoice } from './choice.js';

export class ClassKit {
  constructor() {
    this.choice = null;
    this.title = make('h3', {});
    this.ways = make('div', { class: 'kit-ways' });
    this.status = make('p', { class: 'quiet', role: 'status' });
    this.element = make('section', { class: 'lesson-kit' }, this.title, this.ways, this.status);
  }

  /** `choice`: the lesson, the step, and all that is chosen there; `questions`: whether anything is asked in this lesson. */
  draw(choice, questions) {
    if (this.choice && writeChoice(this.choice) !== writeChoice(choice)) this.status.textContent = '';
    this.choice = choice;
    const focused = [...this.ways.children].indexOf(document.activeElement);
    this.title.textContent = t('lesson_kit');
    const way = (word, act) => make('button', { type: 'button', class: 'link', onclick: act }, t(word));
    replace(
      this.ways,
      way('lesson_kit_link', () => this.copy(false)),
      questions ? way('lesson_kit_asks', () => this.copy(true)) : null,
      way('lesson_kit_save', () => dispatchEvent(new CustomEvent('headlight-deck', { detail: 'save' }))),
    );
    if (focused >= 0) /** @type {HTMLElement} */ (this.ways.children[focused])?.focus({ preventScroll: true });
  }

  async copy(asks) {
    try {
      await copyText(addressOf({ ...this.choice, asks }));
      this.status.textContent = t(asks ? 'lesson_kit_asks_copied' : 'lesson_kit_link_copied');
    } catch (error) {
      console.warn(error);
      this.status.textContent = t('not_saved');
    }
  }
}

/** The page's own address with another choice within the lesson. */
export function addressOf(choice, hash = writeLink()) {
  const values = new URLSearchParams(hash.slice(1));
  values.set('lesson', writeChoice(choice));
  return new URL(`#${values}`, location.href).href;
}
