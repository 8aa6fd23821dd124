// The head wall: thumbnails of all heads with a heading, instructions and key hints.

import { make, replace, isTouch } from '../core/dom.js';
import { sameHead } from '../core/store.js';
import { t } from '../core/i18n.js';
import { HeadGrid } from './head-grid.js';

/** @type {[string[], string][]} */
const KEY_HINTS = [
  [['↑', '↓'], 'key_layer'],
  [['←', '→'], 'key_head'],
  [['1', '2', '3'], 'key_kind'],
  [['P'], 'key_pin'],
  [['M'], 'key_view'],
  [['J', 'K'], 'key_word'],
];

/** `callbacks`: for `HeadGrid`. `keyHints`: element for the key hints. If it is given, the wall has a title and instructions. */
export function mountHeadWall(element, callbacks, keyHints = null) {
  const title = make('h2', { class: 'hidden-text' });
  const description = make('p', { class: 'quiet' });
  const grid = new HeadGrid(callbacks);
  element.classList.add('wall');
  element.append(...(keyHints ? [title, description, grid.element] : [grid.element]));

  /** `name`: the wall's label. */
  function draw(source, state, name) {
    title.textContent = name;
    grid.element.setAttribute('aria-label', name);
    if (keyHints) replace(keyHints, ...KEY_HINTS.map(([key, word]) => make('span', {}, make('kbd', {}, key.join(' ')), ` ${t(word)}`)));
    grid.draw(source, state.kind, state);
    mark(state, source.nearestHead(state.kind, state));
  }

  /** Updates the marks after a change of the selection or the comparison. */
  function mark({ pinned }, selected) {
    const needsSecondHead = pinned && sameHead(pinned, selected);
    description.textContent = t(pinned ? (needsSecondHead ? 'compare_choose' : 'compare_follows') : isTouch() ? 'wall_tap' : 'wall_says');
    grid.updateMarks(selected, (head) => (sameHead(head, pinned) ? 'A' : sameHead(head, selected) && pinned ? 'B' : ''));
  }

  return { draw, mark, grid };
}
