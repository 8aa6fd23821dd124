// Chooses a replacement map: another head's, or the head's own map for another sentence.

import { make, replace } from '../core/dom.js';
import { reconcile } from '../core/reconcile.js';
import { state } from '../core/state.js';
import { t } from '../core/i18n.js';

export class MapSource {
  constructor(store) {
    this.store = store;
    this.headMenu = make('select', { onchange: () => this.showStatus('') });
    this.text = make('input', { type: 'text', maxlength: 300, spellcheck: 'false' });
    this.headLabel = make('label', {});
    this.sentenceLabel = make('label', {});
    this.description = make('p', { class: 'quiet', role: 'status' });
    this.element = make('div', { class: 'map-source', hidden: true }, this.headLabel, this.sentenceLabel, this.description);
    this.kind = ''; // of the listed heads
    this.errorKey = ''; // phrase of the error; empty for none
  }

  /** Whether a brush needs a source for its map. */
  isOpenFor(brush) {
    return brush === 'copy' || brush === 'borrow';
  }

  draw(translation) {
    const { brush } = this.store.state;
    this.element.hidden = !this.isOpenFor(brush);
    if (brush !== this.brush || state.kind !== this.kind) this.errorKey = '';
    this.brush = brush;
    this.headLabel.hidden = brush !== 'copy';
    this.sentenceLabel.hidden = brush !== 'borrow';
    if (this.element.hidden) return;
    if (!this.headLabel.hidden) this.drawHeads(translation);
    this.text.placeholder = t('whatif_borrow_text');
    this.text.lang = translation.model.source;
    reconcile(this.headLabel, `${t('whatif_copy_from')} `, this.headMenu);
    reconcile(this.sentenceLabel, make('span', {}, t('whatif_borrow_from')), this.text);
    this.showStatus(this.errorKey);
  }

  /** Lists all heads of the kind. The head that the page shows is selected. */
  drawHeads(translation) {
    const listKey = `${state.kind} ${translation.layers(state.kind)} ${translation.heads(state.kind)}`;
    if (listKey === this.listKey && this.kind === state.kind) return;
    const { layer, head } = state;
    const shownHead = typeof layer === 'number' && typeof head === 'number' ? `${layer}.${head}` : '0.0';
    const options = [];
    for (let layerIndex = 0; layerIndex < translation.layers(state.kind); layerIndex++) {
      for (let headIndex = 0; headIndex < translation.heads(state.kind); headIndex++) {
        options.push(
          make('option', { value: `${layerIndex}.${headIndex}` }, t('whatif_head', { layer: layerIndex + 1, head: headIndex + 1 })),
        );
      }
    }
    replace(this.headMenu, ...options);
    this.headMenu.value = shownHead;
    this.kind = state.kind;
    this.listKey = listKey;
  }

  /** Shows the phrase of an error, or the instructions if `errorKey` is empty. */
  showStatus(errorKey) {
    this.errorKey = errorKey;
    const phrase = errorKey || (this.brush === 'copy' ? 'whatif_copy_says' : 'whatif_borrow_says');
    this.description.textContent = t(phrase);
    this.description.classList.toggle('refused', Boolean(errorKey));
  }

  /**
   * Reads the replacement for the map of a tile. Shows an error if it is invalid.
   * @param {{ layer: number | string, head: number | string }} tile indices or 'mean'
   * @returns {string | { layer: number, head: number } | null} a sentence ("" if none was typed) or a head (null if it
   *   cannot be copied there)
   */
  readSource({ layer, head }) {
    if (this.brush === 'borrow') {
      const text = this.text.value.trim();
      this.showStatus(text ? '' : 'whatif_borrow_first');
      if (!text) this.text.focus();
      return text;
    }
    const [fromLayer, fromHead] = this.headMenu.value.split('.').map(Number);
    const isSingleHead = typeof layer === 'number' && typeof head === 'number';
    const errorKey = !isSingleHead
      ? 'whatif_copy_one'
      : fromLayer > layer
        ? 'whatif_copy_later'
        : fromLayer === layer && fromHead === head
          ? 'whatif_copy_same'
          : '';
    this.showStatus(errorKey);
    return errorKey ? null : { layer: fromLayer, head: fromHead };
  }
}
