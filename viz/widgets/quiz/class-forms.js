// The section on classes in the overview: students join with a code and their consent; teachers create a class.

import { make, replace } from '../core/dom.js';
import { faultText, t } from '../core/i18n.js';

const JOIN_STEP = /^join-([A-Za-z]+)$/; // step of an invitation link; the student still has to agree

export class ClassForms {
  /** @param {import('./quiz-progress.js').QuizProgress} progress @param {any} callbacks @param {() => void} redraw */
  constructor(progress, callbacks, redraw) {
    this.progress = progress;
    this.callbacks = callbacks;
    this.redraw = redraw;
    this.title = make('h3', {});
    this.text = make('p', {});
    this.label = make('span', {});
    this.code = make('input', { type: 'text', maxlength: '5', autocomplete: 'off', autocapitalize: 'characters', spellcheck: 'false' });
    this.joinButton = make('button', { type: 'submit', class: 'outlined' });
    const fields = make('label', {}, this.label, this.code);
    this.form = make('form', { onsubmit: (event) => this.onJoin(event) }, fields, this.joinButton);
    this.leaveButton = make('button', { type: 'button', class: 'link', onclick: () => this.onLeave() });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.makeButton = make('button', { type: 'button', class: 'link', onclick: () => this.onMake() });
    this.teacherText = make('p', { class: 'quiet' });
    const teacher = make('div', { class: 'quiz-teacher' }, this.makeButton, this.teacherText);
    this.element = make('section', { class: 'quiz-class' }, this.title, this.text, this.form, this.leaveButton, this.error, teacher);
  }

  draw(step) {
    const { code } = this.progress.values;
    this.title.textContent = t('quiz_class');
    this.text.textContent = code ? t('quiz_class_joined', { code }) : t('quiz_class_says');
    this.form.hidden = Boolean(code);
    this.leaveButton.hidden = !code;
    this.label.textContent = t('quiz_class_code');
    this.joinButton.textContent = t('quiz_class_join');
    this.leaveButton.textContent = t('quiz_class_leave');
    this.makeButton.textContent = t('quiz_class_make');
    this.teacherText.textContent = t('quiz_class_make_says');
    const [, linked] = JOIN_STEP.exec(step) ?? [];
    if (linked && !this.code.value) this.code.value = linked.toUpperCase();
  }

  async onJoin(event) {
    event.preventDefault();
    await this.run(async () => {
      const { code } = await this.callbacks.joinClass({ code: this.code.value.trim() });
      this.progress.setClass(code);
    });
  }

  onLeave() {
    this.progress.setClass('');
    this.redraw();
  }

  async onMake() {
    await this.run(async () => {
      const { code, secret } = await this.callbacks.makeClass();
      this.callbacks.go(`class-${code}-${secret}`);
    });
  }

  /** Runs a call and shows an error below the form. */
  async run(call) {
    this.error.textContent = '';
    try {
      await call();
      this.redraw();
    } catch (error) {
      replace(this.error, faultText(error, 'error_unreachable'));
    }
  }
}
