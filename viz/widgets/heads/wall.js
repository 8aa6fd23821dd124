// The wall: every head of every layer, small enough to see them all and large enough to recognise a pattern.

import { make, replace, touch } from '../core/dom.js';
import { same, set, state } from '../core/state.js';
import { t } from '../core/words.js';
import { HeadGrid } from '../parts/headgrid.js';

export function mountWall(element) {
  const title = make('h2', {});
  const says = make('p', { class: 'quiet' });
  const keys = make('p', { class: 'keys' });
  const grid = new HeadGrid({
    choose: (chosen, event) => {
      if (event.shiftKey) set({ pinned: chosen });
      set({ ...chosen, preview: null });
    },
    preview: (preview) => set({ preview }),
  });
  element.classList.add('wall');
  element.append(title, says, grid.element, keys);

  function draw() {
    const focused = grid.element.contains(document.activeElement);
    title.textContent = t('wall');
    grid.element.setAttribute('aria-label', t('wall'));
    replace(keys, ...KEYS.map(([key, word]) => make('span', {}, make('kbd', {}, key.join(' ')), ` ${t(word)}`)));
    grid.draw(state.answer, state.kind);
    mark();
    if (focused) grid.focus();
  }

  function mark() {
    const waiting = state.pinned && same(state.pinned, state);
    says.textContent = t(state.pinned ? (waiting ? 'compare_choose' : 'compare_follows') : touch() ? 'wall_tap' : 'wall_says');
    grid.mark(state, (here) => (same(here, state.pinned) ? 'A' : same(here, state) && state.pinned ? 'B' : ''));
  }

  return { draw, mark, focus: () => grid.focus(), grid: grid.element };
}

const KEYS = [
  [['↑', '↓'], 'key_layer'],
  [['←', '→'], 'key_head'],
  [['1', '2', '3'], 'key_kind'],
  [['P'], 'key_pin'],
  [['M'], 'key_view'],
  [['J', 'K'], 'key_word'],
];
