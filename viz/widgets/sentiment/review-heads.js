// The classifier's head view.

import { make, isTouch } from '../core/dom.js';
import { pageStore, state } from '../core/state.js';
import { NO_SELECTION, VIEW_STATE, createStore } from '../core/store.js';
import { t } from '../core/i18n.js';
import { mount as mountHeadView } from '../headview/head-view.js';
import { mountKeyboard } from '../headview/keyboard.js';
import { ReviewSource } from './review-source.js';

/** Local state of the view. Colours and scale are shared with the page. */
const REVIEW_VIEW_STATE = {
  ...VIEW_STATE,
  kind: 'encoder',
  layer: 0,
  head: 0,
  view: 'matrix',
  words: false,
  special: true,
  rescale: false,
};

export class ReviewHeads {
  constructor() {
    this.title = make('h2', {});
    this.description = make('p', { class: 'quiet' });
    this.element = make('section', { class: 'headlight explorer' }, this.title, this.description);
    this.store = createStore(REVIEW_VIEW_STATE, pageStore);
    this.maps = null;
    const isOpen = () => state.tab === 'sentiment';
    this.view = mountHeadView(this.element, {
      ...{ store: this.store, source: () => this.maps, isVisible: isOpen, parts: ['wall', 'list', 'strips', 'readout'], heading: 'h3' },
      wallName: () => t('sentiment_heads'),
      mapName: (name) => t('sentiment_map_alt', { name }),
    });
    mountKeyboard(() => (isOpen() ? this.view : null));
  }

  /** Clears the selection, for a new review. */
  reset() {
    this.store.set({ ...NO_SELECTION, preview: null });
  }

  show(review) {
    if (review !== this.maps?.review) this.maps = new ReviewSource(review);
    this.title.textContent = t('sentiment_heads');
    this.description.textContent = t(
      !this.maps.mapped ? 'sentiment_heads_long' : isTouch() ? 'sentiment_heads_tap' : 'sentiment_heads_says',
    );
    this.view.draw();
  }
}
