// The list of lessons. Each item has a picture of the current sentence's tensors, a description, a duration and
// the progress.

import { icon, make, replace } from '../core/dom.js';
import { set } from '../core/state.js';
import { hasServer } from '../core/server.js';
import { cssColour } from '../core/theme.js';
import { t } from '../core/i18n.js';
import { valueColour } from '../parts/tooltip.js';
import { AllTerms } from './glossary.js';
import { countAnswers, isPersistent, lessonStatus, score } from './progress.js';
import { availablePlans, planViews } from './plans.js';
import { maxAbs } from './tensor-cache.js';

const TICK = 'M2.5 6.5L5 9l4.500-6';
const PICTURE = { rows: 7, columns: 16 };

export class LessonList {
  /** `pages`: modules whose `row(open)` creates a page's row. The first page's row is at the top, the others are at the end. */
  constructor(open, pages) {
    this.open = open;
    this.pages = pages;
    this.title = make('h2', { class: 'view-title' });
    this.description = make('p', { class: 'lead' });
    this.progress = make('p', { class: 'quiet numeric' });
    this.startButton = make('button', { type: 'button', class: 'go' });
    const startTour = () => dispatchEvent(new CustomEvent('headlight-start'));
    this.tourButton = make('button', { type: 'button', class: 'link', onclick: startTour });
    const openDeck = () => dispatchEvent(new CustomEvent('headlight-deck', { detail: 'open' }));
    this.deckButton = make('button', { type: 'button', class: 'link', onclick: openDeck });
    this.plans = make('span', { class: 'plans' });
    const introduction = make(
      'div',
      {},
      this.title,
      this.description,
      this.progress,
      make('div', { class: 'ways-in' }, this.tourButton, this.deckButton, this.plans),
    );
    const header = make('div', { class: 'top-line' }, introduction, this.startButton);
    this.rows = make('div', { class: 'rows' });
    this.missingNote = make('p', { class: 'quiet missing-lessons', hidden: hasServer() });
    this.glossary = new AllTerms();
    this.element = make('div', { class: 'lesson-list' }, header, this.rows, this.missingNote, this.glossary.element);
  }

  /** `drawPicture(lesson)` returns a matrix, or null until it is loaded. */
  draw(lessons, drawPicture) {
    const done = lessons.filter((lesson) => lessonStatus(lesson) === 'done').length;
    const { right, all } = score();
    const guesses = all ? [t('lesson_guesses', { right, all })] : [];
    this.title.textContent = t('lesson_title');
    this.description.textContent = t('lesson_says');
    const storageNote = t(isPersistent() ? 'lesson_stays_here' : 'lesson_stays_for_now');
    this.progress.textContent = [t('lesson_done_of', { done, all: lessons.length }), t('lesson_done_needs'), ...guesses, storageNote].join(
      ' · ',
    );
    this.tourButton.textContent = t('lesson_first_steps');
    this.deckButton.textContent = t('saved_views');
    const openPlan = (plan) => dispatchEvent(new CustomEvent('headlight-deck', { detail: planViews(lessons, plan) }));
    const planButton = (plan) =>
      make('button', { type: 'button', class: 'link', onclick: () => openPlan(plan) }, t('lesson_plan', { minutes: plan }));
    replace(this.plans, ...availablePlans(lessons).map(planButton));
    this.startButton.textContent = t('lesson_begin');
    this.startButton.onclick = () => this.open(lessons[0].name);
    this.missingNote.textContent = t('lesson_others_need_app');
    this.glossary.draw();
    const [first, ...last] = this.pages.map((page) => page.row(this.open));
    replace(this.rows, first, ...lessons.map((lesson) => this.row(lesson, drawPicture(lesson))), ...last);
  }

  row(lesson, matrix) {
    const { name, minutes } = lesson;
    const status = lessonStatus(lesson) ?? 'new';
    const { answered: count, all } = countAnswers(lesson);
    const mark = make(
      'span',
      { class: `mark ${status}`, title: t(`lesson_mark_${status}`) },
      status === 'done' ? icon(12, [TICK], { width: 2 }) : '',
    );
    const words = make(
      'span',
      {},
      make('b', {}, t(`lesson_${name}_name`)),
      make('span', { class: 'promise' }, t(`lesson_${name}_promise`)),
    );
    const end = make(
      'span',
      { class: 'end' },
      mark,
      make('span', { class: 'numeric' }, t('lesson_minutes', { count: minutes })),
      status === 'begun' && all ? make('span', { class: 'numeric' }, t('lesson_answered_of', { count, all })) : null,
      make('span', { class: 'hidden-text' }, t(`lesson_mark_${status}`)),
    );
    const attributes = { type: 'button', class: 'lesson-row', data: { lesson: name } };
    const row = make('button', { ...attributes, onclick: () => this.open(name) }, drawMatrix(matrix), words, end);
    return make('div', { class: 'lesson-item' }, row, explorerLink(lesson));
  }
}

/** Link to the tab with more on the lesson's topic, if this page has that tab. */
function explorerLink({ steps }) {
  const tab = steps.find((step) => step.tab)?.tab;
  if (!tab || !document.getElementById(`panel-${tab}`)) return null;
  const openTab = () => set({ tab });
  return make(
    'button',
    { type: 'button', class: 'link explorer-link', data: { tab }, onclick: openTab },
    t('lesson_explorer', { tab: t(`tab_${tab}`) }),
  );
}

function drawMatrix(matrix) {
  const canvas = make('canvas', { width: PICTURE.columns * 6, height: PICTURE.rows * 6, 'aria-hidden': 'true' });
  if (!matrix) return canvas;
  const context = canvas.getContext('2d');
  const [rows, columns] = [Math.min(PICTURE.rows, matrix.rows), Math.min(PICTURE.columns, matrix.columns)];
  const maxValue = 0.8 * maxAbs(matrix.numbers) || 1;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      context.fillStyle = cssColour(valueColour(matrix.numbers[row * matrix.columns + column], 'signed', maxValue));
      context.fillRect(
        (canvas.width / columns) * column,
        (canvas.height / rows) * row,
        canvas.width / columns - 1,
        canvas.height / rows - 1,
      );
    }
  }
  return canvas;
}
