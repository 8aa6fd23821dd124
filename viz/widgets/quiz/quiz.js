// The quiz among the lessons: its row at the end of the list, and its page in the player. The Learn tab passes both to the player.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { QuizPage } from './quiz-page.js';
import { QuizProgress, STAGES } from './quiz-progress.js';

export const NAME = 'quiz'; // name of the quiz in permalinks

/** Creates the page and connects it to the player. `calls`: the server calls of the quiz. */
export function mount(player, calls) {
  return new QuizPage({
    ...calls,
    go: (step = '') => player.go({ lesson: NAME, step, part: 0, selection: {} }),
    leave: () => player.leave(),
  });
}

/** The row at the end of the list of lessons. */
export function row(onOpen) {
  const progress = new QuizProgress();
  const words = make('span', {}, make('b', {}, t('quiz_name')), make('span', { class: 'promise' }, t('quiz_promise')));
  const stages = STAGES.map((stage) => make('i', { class: progress.isDone(stage) ? 'done' : '' }));
  const picture = make('span', { class: 'quiz-steps', 'aria-hidden': 'true' }, ...stages);
  const minutes = make('span', { class: 'end' }, make('span', { class: 'numeric' }, t('lesson_minutes', { count: 20 })));
  const attributes = { type: 'button', class: 'lesson-row', data: { lesson: NAME }, onclick: () => onOpen(NAME) };
  return make('div', { class: 'lesson-item quiz-item' }, make('button', attributes, picture, words, minutes));
}
