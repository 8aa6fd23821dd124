// Chooses a replacement map: another head's, or the head's own map for another sentence.

import { make, replace } from '../core/dom.js';
import { reconcile } from '../core/reconcile.js';
import { state } from '../core/state.js';
import { t } from '../core/i18n.js';

export class MapSource {
  constructor(store) {
    this.store = store;
    this.from = make('select', { onchange: () => this.showError('') });
    this.text = make('input', { type: 'text', maxlength: 300, spellcheck: 'false' });
    this.copies = make('label', {});
    this.borrows = make('label', {});
    this.description = make('p', { class: 'quiet', role: 'status' });
    this.element = make('div', { class: 'giver', hidden: true }, this.copies, this.borrows, this.description);
    this.kind = '';
    this.why = '';
  }

  isOpenFor(brush) {
    return brush === 'copy' || brush === 'borrow';
  }

  draw(translation) {
    const { brush } = this.store.state;
    this.element.hidden = !this.isOpenFor(brush);
    if (brush !== this.brush || state.kind !== this.kind) this.why = '';
    this.brush = brush;
    this.copies.hidden = brush !== 'copy';
    this.borrows.hidden = brush !== 'borrow';
    if (this.element.hidden) return;
    if (!this.copies.hidden) this.drawHeads(translation);
    this.text.placeholder = t('whatif_borrow_text');
    this.text.lang = translation.model.source;
    reconcile(this.copies, `${t('whatif_copy_from')} `, this.from);
    reconcile(this.borrows, make('span', {}, t('whatif_borrow_from')), this.text);
    this.showError(this.why);
  }

  /** List all heads of the kind; the selected head comes first. */
  drawHeads(translation) {
    const kind = `${state.kind} ${translation.layers(state.kind)} ${translation.heads(state.kind)}`;
    if (kind === this.listed && this.kind === state.kind) return;
    const { layer, head } = state;
    const chosen = typeof layer === 'number' && typeof head === 'number' ? `${layer}.${head}` : '0.0';
    const options = [];
    for (let layerIndex = 0; layerIndex < translation.layers(state.kind); layerIndex++) {
      for (let headIndex = 0; headIndex < translation.heads(state.kind); headIndex++) {
        options.push(
          make('option', { value: `${layerIndex}.${headIndex}` }, t('whatif_head', { layer: layerIndex + 1, head: headIndex + 1 })),
        );
      }
    }
    replace(this.from, ...options);
    this.from.value = chosen;
    this.kind = state.kind;
    this.listed = kind;
  }

  showError(key) {
    this.why = key;
    const description = key || (this.brush === 'copy' ? 'whatif_copy_says' : 'whatif_borrow_says');
    this.description.textContent = t(description);
    this.description.classList.toggle('refused', Boolean(key));
  }

  /** The selected source for this head; null or empty if it is invalid. */
  choice({ layer, head }) {
    if (this.brush === 'borrow') {
      const text = this.text.value.trim();
      this.showError(text ? '' : 'whatif_borrow_first');
      if (!text) this.text.focus();
      return text;
    }
    const [fromLayer, fromHead] = this.from.value.split('.').map(Number);
    const isSingleHead = typeof layer === 'number' && typeof head === 'number';
    const reason = !isSingleHead
      ? 'whatif_copy_one'
      : fromLayer > layer
        ? 'whatif_copy_later'
        : fromLayer === layer && fromHead === head
          ? 'whatif_copy_same'
          : '';
    this.showError(reason);
    return reason ? null : { layer: fromLayer, head: fromHead };
  }
}
