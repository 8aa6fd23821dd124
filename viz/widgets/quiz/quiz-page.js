// The page of the quiz: the overview, a question, the results, or the teacher's view of a class.

import { make } from '../core/dom.js';
import { on } from '../core/state.js';
import { faultText, t } from '../core/i18n.js';
import { ClassView } from './class-view.js';
import { mark } from './marking.js';
import { Overview } from './overview.js';
import { QuestionView } from './question-view.js';
import { QuizProgress, STAGES } from './quiz-progress.js';
import { ResultsView } from './results-view.js';

const CLASS_STEP = /^class-([A-Za-z]+)-([\w-]+)$/; // step of the teacher's link, with the code and the secret of the class
const RESULTS = 'results';

export class QuizPage {
  /**
   * @param {{ read: () => Promise<any>, makeClass: any, joinClass: any, addAnswer: any, readClass: any, deleteClass: any,
   *   go: (step?: string) => void, leave: () => void }} callbacks
   */
  constructor(callbacks) {
    this.callbacks = callbacks;
    this.progress = new QuizProgress();
    this.bank = null;
    this.step = '';
    this.note = '';
    this.error = make('p', { class: 'error', role: 'alert' });
    this.status = make('p', { class: 'quiet', role: 'status' });
    this.overview = new Overview(this.progress, callbacks, () => this.draw());
    this.question = new QuestionView({ answer: (entry) => this.answer(entry), back: () => callbacks.go() });
    this.results = new ResultsView(() => callbacks.go());
    this.live = new ClassView(callbacks);
    this.views = { overview: this.overview, question: this.question, results: this.results, live: this.live };
    const elements = Object.values(this.views).map(({ element }) => element);
    for (const element of elements) element.hidden = true; // until the questions are loaded
    this.element = make('div', { class: 'quiz', hidden: true }, this.error, this.status, ...elements);
    on(['language'], () => this.bank && !this.element.hidden && this.draw());
  }

  /** Shows a step: a stage, the results, a class, or the overview. The questions are loaded only once. */
  async show(step) {
    this.element.hidden = false;
    this.step = step;
    if (!this.bank && !(await this.load())) return;
    if (this.element.hidden) return; // the reader left while the questions loaded
    try {
      this.draw();
    } catch (error) {
      console.warn(error);
      for (const { element } of Object.values(this.views)) element.hidden = true;
      this.error.textContent = t('error_our_fault'); // instead of a blank page
      this.bank = this.loading = undefined; // the next opening loads the questions again
    }
  }

  async load() {
    this.loading ??= this.callbacks.read();
    this.status.textContent = t('quiz_loading');
    try {
      this.bank = await this.loading;
    } catch (error) {
      this.loading = undefined;
      this.error.textContent = faultText(error, 'error_unreachable');
      return false;
    } finally {
      this.status.textContent = '';
    }
    this.error.textContent = '';
    return true;
  }

  draw() {
    const { step, bank, progress, callbacks } = this;
    const [, code, secret] = CLASS_STEP.exec(step) ?? [];
    if (code && callbacks.makeClass) return this.showView('live', () => this.live.draw(bank, code.toUpperCase(), secret));
    if (step === RESULTS && progress.isDone('after')) {
      return this.showView('results', () => this.results.draw(bank, progress));
    }
    if (STAGES.includes(step) && progress.opensAt(step) === 0 && !progress.isDone(step)) return this.drawQuestion(step);
    this.showView('overview', () => this.overview.draw(bank, step));
  }

  showView(name, draw) {
    for (const [viewName, { element }] of Object.entries(this.views)) element.hidden = viewName !== name;
    draw();
  }

  drawQuestion(stage) {
    const { bank, progress } = this;
    progress.begin();
    const items = progress.items(stage, bank.items);
    const answers = progress.answers(stage);
    const number = items.findIndex((item) => !(item in answers)) + 1;
    const item = items[number - 1];
    this.current = { stage, item, form: progress.form(stage) };
    const question = bank.forms[this.current.form][item];
    const { code } = progress.values;
    const note = this.note || (code ? t('quiz_class_joined', { code }) : '');
    this.showView('question', () => this.question.draw({ item, question, stage, number, all: items.length, glosses: bank.glosses, note }));
  }

  /** Stores the answer, counts it for the class and continues. */
  answer(entry) {
    const { bank, progress, current } = this;
    const outcome = mark(bank.forms[current.form][current.item], entry);
    progress.record(current.stage, current.item, { outcome, entry }, bank.items);
    this.note = '';
    this.count({ ...current, outcome });
    if (progress.isDone(current.stage)) this.callbacks.go(current.stage === 'before' ? '' : RESULTS);
    else this.draw();
  }

  async count(values) {
    const { code } = this.progress.values;
    if (!code || !this.callbacks.makeClass) return;
    try {
      await this.callbacks.addAnswer({ code, ...values });
    } catch (error) {
      this.note = t('quiz_class_lost', { reason: faultText(error, 'error_unreachable') });
      this.draw();
    }
  }
}
