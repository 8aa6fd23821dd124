// The teacher's view of a class: a bar for each question while answers arrive, and the answers to one question.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { faultText, t } from '../core/i18n.js';
import { lessonUrl } from '../lessons/class-kit.js';
import { copyText, saveBytes } from '../parts/save.js';
import { outcomeReason } from './results-view.js';
import { filledGrid, questionText, smallGrid, tables } from './question-parts.js';
import { countAnswers, outcomeCounts } from './class-counts.js';
import { countsCsv } from './quiz-csv.js';
import { STAGES } from './quiz-progress.js';

const POLL_MS = 2000; // milliseconds between two requests for the counts

export class ClassView {
  /** @param {any} callbacks */
  constructor(callbacks) {
    this.callbacks = callbacks;
    /** @type {any} */
    this.bank = null;
    this.code = '';
    this.secret = '';
    this.counts = {};
    this.choice = { stage: 'before', form: 'A', item: '', showsAnswer: false };
    this.back = make('button', { type: 'button', class: 'link', onclick: () => callbacks.go() });
    this.title = make('h2', {});
    this.enter = make('p', { class: 'quiz-enter' });
    this.stages = make('div', { class: 'segments', role: 'group' });
    this.rows = make('div', { class: 'quiz-bars' });
    this.detail = make('section', { class: 'quiz-detail' });
    this.status = make('p', { class: 'quiet', role: 'status' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.actions = make('div', { class: 'quiz-ways' });
    this.endText = make('p', { class: 'quiet' });
    this.element = make(
      'section',
      { class: 'quiz-live' },
      make('p', { class: 'quiz-where' }, this.back),
      make('div', { class: 'quiz-live-top' }, this.title, this.enter, this.stages),
      this.error,
      make('div', { class: 'quiz-live-columns' }, this.rows, this.detail),
      make('div', { class: 'quiz-live-end' }, this.actions, this.status, this.endText),
    );
    this.element.addEventListener('keydown', (event) => this.onKey(event));
  }

  draw(bank, code, secret) {
    const isNew = code !== this.code || secret !== this.secret;
    if (isNew) Object.assign(this, { code, secret, counts: {}, isDeleted: false, isSure: false });
    this.bank = bank;
    this.choice.item ||= bank.items[0];
    this.drawTexts();
    this.drawCounts();
    this.poll();
  }

  drawTexts() {
    this.back.textContent = t('quiz_back');
    this.title.textContent = t('quiz_class_live', { code: this.code });
    this.enter.textContent = t('quiz_class_enter', { code: this.code });
    this.endText.textContent = t('quiz_class_ends');
    const button = (text, onclick) => make('button', { type: 'button', class: 'link', onclick }, text);
    replace(
      this.actions,
      button(t('quiz_class_export'), () => saveBytes(`headlight-class-${this.code}.csv`, [countsCsv(this.counts)], 'text/csv')),
      button(t('quiz_class_invite'), () =>
        this.copyLink(lessonUrl({ lesson: 'quiz', step: `join-${this.code}`, part: 0, selection: {} }), 'quiz_class_invite_copied'),
      ),
      button(t('quiz_class_link'), () => this.copyLink(location.href, 'quiz_class_link_copied')),
      button(t(this.isSure ? 'quiz_class_delete_sure' : 'quiz_class_delete'), () => this.remove()),
    );
  }

  drawCounts() {
    const { choice } = this;
    const focused = document.activeElement?.getAttribute('data-key');
    const segment = (key, text, changes) =>
      make(
        'button',
        {
          type: 'button',
          'aria-pressed': String(Object.entries(changes).every(([name, value]) => choice[name] === value)),
          data: { key },
          onclick: () => this.choose(changes),
        },
        text,
      );
    replace(this.stages, ...STAGES.map((stage) => segment(stage, t(`quiz_stage_${stage}`), { stage })));
    replace(this.rows, ...this.bank.items.map((item) => this.row(item)));
    this.drawDetail(segment);
    if (focused) /** @type {HTMLElement | null} */ (this.element.querySelector(`[data-key="${focused}"]`))?.focus();
  }

  choose(changes) {
    Object.assign(this.choice, changes, 'item' in changes ? { showsAnswer: false } : {});
    this.drawCounts();
  }

  /** The bar of a question: the share of right answers in both forms. */
  row(item) {
    const { right, all } = countAnswers(this.counts, this.choice.stage, item);
    const share = all ? (100 * right) / all : 0;
    const bar = make('span', { class: 'bar', 'aria-hidden': 'true' }, make('i', { style: `width: ${share}%` }));
    const count = make('span', { class: 'numeric' }, all ? t('quiz_class_share', { right, all }) : '');
    const attributes = { type: 'button', 'aria-pressed': String(item === this.choice.item), data: { key: `row-${item}` } };
    return make('button', { ...attributes, onclick: () => this.choose({ item }) }, make('span', {}, t(`quiz_name_${item}`)), bar, count);
  }

  /** The chosen question with a bar for each kind of answer. The right answer is hidden at first. */
  drawDetail(segment) {
    const { stage, item, showsAnswer } = this.choice;
    const form = stage === 'again' ? 'C' : this.choice.form === 'C' ? 'A' : this.choice.form;
    const question = this.bank.forms[form][item];
    const forms =
      stage === 'again' ? [] : ['A', 'B'].map((name) => segment(`form-${name}`, t('quiz_class_form', { form: name }), { form: name }));
    const outcomes = outcomeCounts(this.counts, stage, form, item, question);
    const all = outcomes.reduce((total, { count }) => total + count, 0);
    const bars = outcomes.map((outcome) => this.outcome({ ...outcome, all, item, question, showsAnswer }));
    const toggle = make(
      'button',
      {
        type: 'button',
        class: 'outlined',
        'aria-pressed': String(showsAnswer),
        data: { key: 'answer' },
        onclick: () => this.choose({ showsAnswer: !showsAnswer }),
      },
      t(showsAnswer ? 'quiz_class_hide' : 'quiz_class_show'),
    );
    replace(
      this.detail,
      make(
        'div',
        { class: 'quiz-detail-top' },
        make('span', { class: 'segments', role: 'group' }, ...forms),
        make('span', { class: 'quiet numeric' }, all ? t('quiz_class_count', { count: all }) : t('quiz_class_none')),
        toggle,
      ),
      make('h3', {}, ...questionText(item, question)),
      make(
        'div',
        { class: 'quiz-detail-material' },
        ...tables(question, this.bank.glosses),
        question.kind === 'cells' ? filledGrid(question, showsAnswer ? question.outcomes[0].answer : [], this.bank.glosses) : null,
      ),
      make('div', { class: 'quiz-outcomes' }, ...bars),
    );
  }

  /** The bar of a kind of answer, with the reason why it is right or wrong if the right answer is shown. */
  outcome({ name, label, answer, count, all, item, question, showsAnswer }) {
    const bar = make('span', { class: 'bar', 'aria-hidden': 'true' }, make('i', { style: `width: ${all ? (100 * count) / all : 0}%` }));
    const reason = showsAnswer ? outcomeReason(item, name, question) : '';
    const classes = showsAnswer && name === 'right' ? 'right' : '';
    return make(
      'div',
      { class: classes, data: { outcome: name } },
      make('span', { class: 'name' }, answer && question.kind === 'cells' ? smallGrid(question, answer, label) : label),
      bar,
      make('span', { class: 'numeric' }, String(count)),
      reason ? make('p', { class: 'reason' }, reason) : null,
    );
  }

  // ---------------------------------------------------------------- counts

  /** Requests the counts again and again while the class is on display. */
  async poll() {
    const { code, secret } = this;
    const isWanted = () => this.isVisible() && this.code === code && this.secret === secret && !this.isDeleted;
    clearTimeout(this.timer);
    if (!isWanted()) return;
    try {
      const answer = await this.callbacks.readClass({ code, secret }, isWanted);
      if (!answer || !isWanted()) return;
      const isChanged = JSON.stringify(answer.counts) !== JSON.stringify(this.counts);
      this.counts = answer.counts;
      this.error.textContent = '';
      if (isChanged) this.drawCounts();
    } catch (error) {
      this.error.textContent = faultText(error, 'quiz_class_again');
      if (error.fault) return; // the class no longer exists
    }
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.poll(), POLL_MS);
  }

  isVisible() {
    return state.tab === 'learn' && !this.element.hidden && !this.element.parentElement?.hidden;
  }

  async copyLink(link, copied) {
    try {
      await copyText(link);
      this.status.textContent = t(copied);
    } catch (error) {
      console.warn(error);
      this.status.textContent = t('not_saved');
    }
  }

  /** Deletes the class; the button asks for a second press to confirm. */
  async remove() {
    if (!this.isSure) {
      this.isSure = true;
      this.drawTexts();
      return;
    }
    this.isSure = false;
    try {
      await this.callbacks.deleteClass({ code: this.code, secret: this.secret });
      this.isDeleted = true;
      this.counts = {};
      this.status.textContent = t('quiz_class_deleted');
      this.error.textContent = '';
    } catch (error) {
      this.error.textContent = faultText(error, 'error_unreachable');
    }
    this.drawTexts();
    this.drawCounts();
  }

  /** Arrow keys step through the questions, as in a presentation. */
  onKey(event) {
    const step = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key];
    if (!step || event.target.closest('.segments')) return;
    event.preventDefault();
    const { items } = this.bank;
    const index = (items.indexOf(this.choice.item) + step + items.length) % items.length;
    this.choose({ item: items[index] });
    /** @type {HTMLElement | null} */ (this.element.querySelector(`[data-key="row-${items[index]}"]`))?.focus();
  }
}
