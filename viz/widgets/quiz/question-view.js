// One question: its text, its numbers, and the control for the answer.

import { make, replace, updateScrollable } from '../core/dom.js';
import { state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { answerControl, QUESTION_ID } from './answer-controls.js';
import { isComplete, findUnreadable } from './marking.js';
import { questionText, tables } from './question-parts.js';

export class QuestionView {
  /** @param {{ answer: (entry: any) => void, back: () => void }} callbacks */
  constructor(callbacks) {
    this.callbacks = callbacks;
    this.item = '';
    this.stage = '';
    this.language = '';
    /** @type {any} */
    this.control = null;
    /** @type {any} */
    this.question = null;
    this.back = make('button', { type: 'button', class: 'link', onclick: () => callbacks.back() });
    this.progressText = make('span', { class: 'numeric' });
    this.dots = make('span', { class: 'quiz-dots', 'aria-hidden': 'true' });
    this.text = make('h2', { id: QUESTION_ID, tabindex: '-1' });
    this.hint = make('p', { class: 'quiet' });
    this.material = make('div', { class: 'quiz-material', role: 'group' });
    this.updateScrollable = updateScrollable(this.material, 'Width');
    this.answer = make('div', { class: 'quiz-answer' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.next = make('button', { type: 'button', class: 'go', onclick: () => this.send() });
    this.unknown = make('button', { type: 'button', class: 'link', onclick: () => callbacks.answer(null) });
    this.note = make('p', { class: 'quiet', role: 'status' });
    const buttons = make('div', { class: 'quiz-buttons' }, this.next, this.unknown);
    this.element = make(
      'section',
      { class: 'quiz-question' },
      make('p', { class: 'quiz-where' }, this.back, this.progressText, this.dots),
      make('div', { class: 'quiz-ask' }, this.text, this.hint),
      this.material,
      make('div', { class: 'quiz-reply' }, this.answer, this.error, buttons, this.note),
    );
  }

  /** @param {{ item: string, question: any, stage: string, number: number, all: number, glosses: any, note: string }} options */
  draw({ item, question, stage, number, all, glosses, note }) {
    const isNew = this.item !== item || this.stage !== stage;
    if (isNew || this.language !== state.language) {
      Object.assign(this, { item, stage, question, language: state.language });
      this.control = answerControl(
        question,
        glosses,
        isNew ? null : this.control.value,
        () => this.update(),
        () => this.send(),
      );
    }
    this.element.dataset.item = item;
    this.element.dataset.kind = question.kind;
    this.back.textContent = t('quiz_back');
    this.progressText.textContent = t('quiz_where', { stage: t(`quiz_stage_${stage}`), number, all });
    replace(this.dots, ...Array.from({ length: all }, (_, index) => make('i', { class: dotClass(index + 1, number) })));
    replace(this.text, ...questionText(item, question));
    this.hint.textContent = t(`quiz_hint_${question.kind}`);
    const inMaterial = this.control.place === 'material';
    replace(this.material, ...(inMaterial ? [this.control.element] : tables(question, glosses)));
    replace(this.answer, ...(inMaterial ? [] : [this.control.element]));
    this.element.classList.toggle('plain', !this.material.children.length);
    this.next.textContent = t(number === all ? 'quiz_finish' : 'quiz_next');
    this.unknown.textContent = t('quiz_unknown');
    this.note.textContent = note;
    this.update();
    this.updateScrollable();
    if (isNew) this.text.focus({ preventScroll: true });
  }

  update() {
    this.error.textContent = '';
    this.next.disabled = !isComplete(this.question, this.control.value);
  }

  send() {
    const entry = this.control.value;
    if (!isComplete(this.question, entry)) return;
    const wrong = findUnreadable(this.question, entry);
    if (wrong === undefined) this.callbacks.answer(entry);
    else this.error.textContent = t('quiz_not_number', { given: wrong });
  }
}

const dotClass = (number, current) => (number < current ? 'done' : number === current ? 'current' : '');
