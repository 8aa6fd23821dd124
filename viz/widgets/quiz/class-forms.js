// A class on the overview: students join with a code and their consent, teachers make a class.

import { make, replace } from '../core/dom.js';
import { faultText, t } from '../core/i18n.js';

const JOIN = /^join-([A-Za-z]+)$/; // a link with the code; the student still agrees

export class ClassForms {
  /** @param {import('./quiz-progress.js').QuizProgress} progress @param {any} callbacks @param {() => void} redraw */
  constructor(progress, callbacks, redraw) {
    this.progress = progress;
    this.callbacks = callbacks;
    this.redraw = redraw;
    this.title = make('h3', {});
    this.says = make('p', {});
    this.label = make('span', {});
    this.code = make('input', { type: 'text', maxlength: '5', autocomplete: 'off', autocapitalize: 'characters', spellcheck: 'false' });
    this.join = make('button', { type: 'submit', class: 'outlined' });
    const fields = make('label', {}, this.label, this.code);
    this.form = make('form', { onsubmit: (event) => this.onJoin(event) }, fields, this.join);
    this.leave = make('button', { type: 'button', class: 'link', onclick: () => this.onLeave() });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.make = make('button', { type: 'button', class: 'link', onclick: () => this.onMake() });
    this.makeSays = make('p', { class: 'quiet' });
    const teacher = make('div', { class: 'quiz-teacher' }, this.make, this.makeSays);
    this.element = make('section', { class: 'quiz-class' }, this.title, this.says, this.form, this.leave, this.error, teacher);
  }

  draw(step) {
    const { code } = this.progress.values;
    this.title.textContent = t('quiz_class');
    this.says.textContent = code ? t('quiz_class_joined', { code }) : t('quiz_class_says');
    this.form.hidden = Boolean(code);
    this.leave.hidden = !code;
    this.label.textContent = t('quiz_class_code');
    this.join.textContent = t('quiz_class_join');
    this.leave.textContent = t('quiz_class_leave');
    this.make.textContent = t('quiz_class_make');
    this.makeSays.textContent = t('quiz_class_make_says');
    const [, linked] = JOIN.exec(step) ?? [];
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

  /** Run a call; an error is shown below the form. */
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
