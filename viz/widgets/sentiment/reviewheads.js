// Header of the classifier's head view.

import { make, touch } from '../core/dom.js';
import { page, state } from '../core/state.js';
import { LET_GO, LOOK, createStore } from '../core/store.js';
import { t } from '../core/words.js';
import { mount as mountHeadView } from '../headview/headview.js';
import { listenToKeys } from '../headview/keys.js';
import { ReviewMaps } from './reviewmaps.js';

/** A review has no kinds and no other forms; colours and scale are the page's. */
const OWN = { ...LOOK, kind: 'encoder', layer: 0, head: 0, view: 'matrix', words: false, special: true, rescale: false };

export class ReviewHeads {
  constructor() {
    this.title = make('h2', {});
    this.says = make('p', { class: 'quiet' });
    this.element = make('section', { class: 'headlight explorer' }, this.title, this.says);
    this.store = createStore(OWN, page);
    this.maps = null;
    const open = () => state.tab === 'sentiment';
    this.view = mountHeadView(this.element, {
      ...{ store: this.store, source: () => this.maps, open, parts: ['wall', 'list', 'strips', 'readout'], heading: 'h3' },
      wallName: () => t('sentiment_heads'),
      mapName: (name) => t('sentiment_map_alt', { name }),
    });
    listenToKeys(() => (open() ? this.view : null));
  }

  /** Another review: nothing is pointed at. */
  reset() {
    this.store.set({ ...LET_GO, preview: null });
  }

  show(review) {
    if (review !== this.maps?.review) this.maps = new ReviewMaps(review);
    this.title.textContent = t('sentiment_heads');
    this.says.textContent = t(!this.maps.mapped ? 'sentiment_heads_long' : touch() ? 'sentiment_heads_tap' : 'sentiment_heads_says');
    this.view.draw();
  }
}
