// The heads of the second model most similar to the selected head of the first.

import { make, replace, iconToggle } from '../core/dom.js';
import { sameHead } from '../core/store.js';
import { threeDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { shortName } from '../parts/head-names.js';

const MAX_LISTED_HEADS = 5;
// Two overlapping circles.
const OVERLAP_ICON = [{ d: 'M1.2 7.5a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0M5.4 7.5a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0' }];

export class SimilarHeads {
  /** `choose(head)` selects a head of the second model; `follow()` toggles whether the second head follows the first one. */
  constructor({ choose, follow }) {
    this.title = make('h2', {});
    this.description = make('p', { class: 'quiet' });
    this.list = make('ol', { class: 'rank' });
    const [button, name] = iconToggle(OVERLAP_ICON, follow);
    this.followButton = button;
    this.followName = name;
    this.element = make('section', { class: 'ranked' }, this.title, this.description, this.list, this.followButton);
    this.list.addEventListener('click', (event) => {
      const row = event.target.closest('button');
      if (row) choose({ layer: Number(row.dataset.layer), head: Number(row.dataset.head) });
    });
  }

  /** `ranking`: heads of the second model with shares, the most similar first; `heads`: the selected head of each model. */
  draw(ranking, heads, follows) {
    this.title.textContent = t('beside_most_like', { head: shortName(heads[0]) });
    this.description.textContent = t(ranking.length ? 'beside_rank_says' : heads[0].head === 'max' ? 'beside_maximum' : 'beside_no_rows');
    const hadFocus = this.list.contains(document.activeElement);
    const makeItem = ({ layer, head, share }) => {
      const bar = make('span', { class: 'part' }, make('i', { style: `width:${(100 * share).toFixed(1)}%` }));
      const attributes = { type: 'button', 'aria-pressed': String(sameHead({ layer, head }, heads[1])), data: { layer, head } };
      const value = make('span', { class: 'numeric' }, threeDecimals(share));
      return make('li', {}, make('button', attributes, make('span', {}, shortName({ layer, head })), bar, value));
    };
    replace(this.list, ...ranking.slice(0, MAX_LISTED_HEADS).map(makeItem));
    if (hadFocus) (this.list.querySelector('[aria-pressed=true]') ?? this.list.querySelector('button'))?.focus({ preventScroll: true });
    this.followButton.setAttribute('aria-pressed', String(follows));
    this.followName.textContent = t('beside_follow');
    this.followButton.title = t('beside_follow_says');
  }
}
