// The overview of the quiz: the three stages, the class, and the buttons to review, save or delete the answers.

import { make, replace } from '../core/dom.js';
import { languageTag } from '../core/language-tags.js';
import { state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { isPersistent } from '../lessons/progress.js';
import { saveBytes } from '../parts/save.js';
import { ClassForms } from './class-forms.js';
import { answersCsv } from './quiz-csv.js';
import { STAGES } from './quiz-progress.js';

const CSV_TYPE = 'text/csv';

export class Overview {
  /** @param {import('./quiz-progress.js').QuizProgress} progress @param {any} callbacks @param {() => void} redraw */
  constructor(progress, callbacks, redraw) {
    this.progress = progress;
    this.callbacks = callbacks;
    this.redraw = redraw;
    /** @type {any} */
    this.bank = null;
    this.isSure = false;
    this.back = make('button', { type: 'button', class: 'link', onclick: () => callbacks.leave() });
    this.title = make('h2', { class: 'view-title' });
    this.lead = make('p', { class: 'lead' });
    this.stages = make('ol', { class: 'quiz-stages' });
    this.actions = make('div', { class: 'quiz-ways' });
    this.privacy = make('p', { class: 'quiet' });
    this.forms = callbacks.makeClass ? new ClassForms(progress, callbacks, redraw) : null;
    this.element = make(
      'section',
      { class: 'quiz-overview' },
      make('p', { class: 'quiz-where' }, this.back),
      this.title,
      this.lead,
      this.stages,
      this.actions,
      this.privacy,
      this.forms?.element ?? '',
    );
  }

  draw(bank, step) {
    this.bank = bank;
    this.back.textContent = t('lesson_back');
    this.title.textContent = t('quiz_title');
    this.lead.textContent = t('quiz_says');
    replace(this.stages, ...STAGES.map((stage) => this.stage(stage)));
    replace(this.actions, ...this.buttons());
    this.privacy.textContent = t(!isPersistent() ? 'quiz_privacy_visit' : this.forms ? 'quiz_privacy' : 'quiz_privacy_alone');
    this.forms?.draw(step);
  }

  stage(stage) {
    const { progress } = this;
    const isOpen = progress.opensAt(stage) === 0;
    const mark = make('span', { class: `mark ${progress.isDone(stage) ? 'done' : ''}`, 'aria-hidden': 'true' });
    const words = make(
      'span',
      {},
      make('b', {}, t(`quiz_stage_${stage}`)),
      make('span', { class: 'promise' }, t(`quiz_stage_${stage}_says`)),
    );
    return make('li', { class: isOpen ? '' : 'later', data: { stage } }, mark, words, this.action(stage));
  }

  /** The button of a stage, its score, or the time when it opens. Scores are shown only after the second form. */
  action(stage) {
    const { progress, bank } = this;
    const all = progress.count(stage, bank.items);
    if (progress.isDone(stage)) {
      const text = progress.isDone('after') ? t('quiz_score', { right: progress.countRight(stage), all }) : t('quiz_answered', { all });
      return make('span', { class: 'numeric' }, text);
    }
    const opensAt = progress.opensAt(stage);
    if (opensAt === null) return make('span', { class: 'quiet' }, t(`quiz_first_${stage === 'after' ? 'before' : 'after'}`));
    if (opensAt) return make('span', { class: 'quiet' }, t('quiz_opens', { date: dateText(opensAt) }));
    const count = Object.keys(progress.answers(stage)).length;
    const text = count ? t('quiz_go_on', { number: count + 1 }) : t('quiz_begin');
    return make('button', { type: 'button', class: 'go', onclick: () => this.callbacks.go(stage) }, text);
  }

  buttons() {
    const { progress } = this;
    const button = (text, onclick) => make('button', { type: 'button', class: 'link', onclick }, text);
    const hasAnswers = STAGES.some((stage) => Object.keys(progress.answers(stage)).length);
    if (!hasAnswers) return [];
    return [
      progress.isDone('after') ? button(t('quiz_explain'), () => this.callbacks.go('results')) : null,
      button(t('quiz_save'), () => saveBytes('headlight-quiz.csv', [answersCsv(progress, this.bank)], CSV_TYPE)),
      button(t(this.isSure ? 'quiz_restart_sure' : 'quiz_restart'), () => this.restart()),
    ];
  }

  restart() {
    if (this.isSure) this.progress.restart();
    this.isSure = !this.isSure;
    this.redraw();
  }
}

const dateText = (time) => new Intl.DateTimeFormat(languageTag(state.language), { dateStyle: 'medium', timeStyle: 'short' }).format(time);
