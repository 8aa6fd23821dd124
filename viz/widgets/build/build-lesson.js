// The lesson "Build it yourself" among the lessons: its row in the list and its page in the player. The Learn tab passes
// both to the player, which does not import this module.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { BuildPage } from './build-page.js';
import { countBuilt } from './build-state.js';

export const NAME = 'build'; // name of the lesson in permalinks
const PARTS = 14; // parts of the model that the reader builds
const MINUTES = 45; // reading time of the lesson

/** Creates the page and connects it to the player. `calls`: the server calls of the lesson. */
export function mount(player, calls) {
  const go = (lesson, step) => player.go({ lesson, step, part: 0, selection: {} });
  return new BuildPage({
    ...calls,
    tensors: player.tensors,
    go: (part) => go(NAME, part),
    leave: () => player.leave(),
    openStep: (step) => {
      const [lesson, name] = step.split('.');
      go(lesson, name);
    },
  });
}

/** The row at the top of the list of lessons. */
export function row(onOpen) {
  const built = countBuilt();
  const words = make('span', {}, make('b', {}, t('build_name')), make('span', { class: 'promise' }, t('build_promise')));
  const sockets = Array.from({ length: PARTS }, (_, index) => make('i', { class: index < built ? 'built' : '' }));
  const picture = make('span', { class: 'sockets', 'aria-hidden': 'true' }, ...sockets);
  const end = make(
    'span',
    { class: 'end' },
    make('span', { class: 'numeric' }, t('build_progress', { built, all: PARTS })),
    make('span', { class: 'numeric' }, t('lesson_minutes', { count: MINUTES })),
  );
  const attributes = { type: 'button', class: 'lesson-row', data: { lesson: NAME }, onclick: () => onOpen(NAME) };
  return make('div', { class: 'lesson-item build-item' }, make('button', attributes, picture, words, end));
}
