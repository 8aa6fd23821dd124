// The wall: every head of every layer, small enough to see them all and large enough to recognise a pattern.

import { make, replace, touch } from '../core/dom.js';
import { same } from '../core/store.js';
import { t } from '../core/words.js';
import { HeadGrid } from './headgrid.js';

/** @type {[string[], string][]} */
const KEYS = [
  [['↑', '↓'], 'key_layer'],
  [['←', '→'], 'key_head'],
  [['1', '2', '3'], 'key_kind'],
  [['P'], 'key_pin'],
  [['M'], 'key_view'],
  [['J', 'K'], 'key_word'],
];

/** `does`: callbacks `choose(head, event)` and `preview(head)`; `keys`: element for the key hints, next to a title and instructions. */
export function mountWall(element, does, keys = null) {
  const title = make('h2', { class: 'hidden-text' });
  const says = make('p', { class: 'quiet' });
  const grid = new HeadGrid(does);
  element.classList.add('wall');
  element.append(...(keys ? [title, says, grid.element] : [grid.element]));

  /** `name`: the wall's label. */
  function draw(source, state, name) {
    title.textContent = name;
    grid.element.setAttribute('aria-label', name);
    if (keys) replace(keys, ...KEYS.map(([key, word]) => make('span', {}, make('kbd', {}, key.join(' ')), ` ${t(word)}`)));
    grid.draw(source, state.kind, state);
    mark(state, source.fit(state.kind, state));
  }

  /** Another head is chosen, or a comparison begins or ends. */
  function mark({ pinned }, chosen) {
    const waiting = pinned && same(pinned, chosen);
    says.textContent = t(pinned ? (waiting ? 'compare_choose' : 'compare_follows') : touch() ? 'wall_tap' : 'wall_says');
    grid.mark(chosen, (here) => (same(here, pinned) ? 'A' : same(here, chosen) && pinned ? 'B' : ''));
  }

  return { draw, mark, grid };
}
