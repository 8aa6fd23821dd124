// Exports for teachers: a link to the step, with or without answers, a saved view, and the lesson as a notebook.

import { make, replace } from '../core/dom.js';
import { formatPermalink } from '../core/permalink.js';
import { state } from '../core/state.js';
import { faultText, t } from '../core/i18n.js';
import { copyText, saveBytes } from '../parts/save.js';
import { resolveSelection, formatLessonLink } from './lesson-link.js';
import { resolveValues } from './control-values.js';

const TYPE = 'application/x-ipynb+json';

export class ClassKit {
  /** `notebook(values)`: the server call that returns a file; undefined on a page without a server. */
  constructor(notebook) {
    this.notebook = notebook;
    this.lesson = null;
    this.choice = null;
    this.title = make('h3', {});
    this.links = make('div', { class: 'kit-ways' });
    this.status = make('p', { class: 'quiet', role: 'status' });
    this.element = make('section', { class: 'lesson-kit' }, this.title, this.links, this.status);
  }

  /** `choice`: the lesson, the step and the selection. */
  draw(lesson, choice) {
    if (this.choice && formatLessonLink(this.choice) !== formatLessonLink(choice)) this.status.textContent = '';
    this.lesson = lesson;
    this.choice = choice;
    const focused = [...this.links.children].indexOf(document.activeElement);
    this.title.textContent = t('lesson_kit');
    const button = (word, onclick) => make('button', { type: 'button', class: 'link', onclick }, t(word));
    replace(
      this.links,
      button('lesson_kit_link', () => this.copy(false)),
      lesson.steps.some(({ ask }) => ask) ? button('lesson_kit_asks', () => this.copy(true)) : null,
      button('lesson_kit_save', () => dispatchEvent(new CustomEvent('headlight-deck', { detail: 'save' }))),
      this.notebook ? button('lesson_kit_notebook', () => this.saveNotebook()) : null,
    );
    if (focused >= 0) /** @type {HTMLElement} */ (this.links.children[focused])?.focus({ preventScroll: true });
  }

  /** Save the lesson as a notebook with the current selection and control values. */
  async saveNotebook() {
    const { name, steps } = this.lesson;
    const { set, ...look } = resolveSelection(state.translation, this.choice.selection);
    const experiments = steps.filter(({ experiment }) => experiment);
    const controlValues = Object.fromEntries(experiments.map((step) => [step.name, resolveValues(step.experiment.controls, set)]));
    const values = {
      lesson: name,
      language: state.language,
      request: state.translation.requestValues(),
      look: { ...look, set: controlValues },
    };
    this.status.textContent = t('lesson_kit_notebook_writes');
    try {
      const file = await this.notebook(values);
      saveBytes(file.name, [file.content], TYPE);
      this.status.textContent = t('lesson_kit_notebook_saved', { name: file.name });
    } catch (error) {
      this.status.textContent = faultText(error);
    }
  }

  async copy(withQuestions) {
    try {
      await copyText(lessonUrl({ ...this.choice, asks: withQuestions }));
      this.status.textContent = t(withQuestions ? 'lesson_kit_asks_copied' : 'lesson_kit_link_copied');
    } catch (error) {
      console.warn(error);
      this.status.textContent = t('not_saved');
    }
  }
}

/** URL of the page with this lesson, step and selection. */
export function lessonUrl(choice, hash = formatPermalink()) {
  const values = new URLSearchParams(hash.slice(1));
  values.set('lesson', formatLessonLink(choice));
  return new URL(`#${values}`, location.href).href;
}
