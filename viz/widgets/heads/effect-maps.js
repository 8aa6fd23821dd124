// Effect view: the effect of each cell on the word that its row writes, in nats, predicted by one backward pass per
// word: on its probability, or on its lead over the likeliest other word. Encoder rows affect all words, so their cells show
// the effect on the whole translation.

import { decodeArray } from '../core/base64-arrays.js';
import { callWithRetry } from '../core/boot.js';
import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { reconcile } from '../core/reconcile.js';
import { LatestRequest } from '../core/latest-request.js';
import { set, state } from '../core/state.js';
import { otherTokens } from '../core/translation.js';
import { axes, formatEffect } from '../core/map-view.js';
import { TranslationSource } from '../headview/translation-source.js';

const MAX_TENSORS = 6; // three kinds, on words and on leads

export class EffectMaps {
  /**
   * @param {import('../core/server.js').Server} server
   * @param {() => void} redraw called when effects are loaded
   */
  constructor(server, redraw) {
    this.server = server;
    this.redraw = redraw;
    /** @type {Map<string, import('../core/base64-arrays.js').Tensor>} */
    this.tensors = new Map(); // request and kind → [layers, heads, queries, keys]
    this.note = make('p', { class: 'quiet', role: 'status' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.choice = make('div', { class: 'segments', role: 'group' });
    this.element = make('div', { class: 'effect-status' }, this.choice, this.note, this.error);
    this.latest = new LatestRequest(this.element, this.error, 'error_our_fault');
  }

  get key() {
    return `${state.kind} ${state.lead} ${JSON.stringify(state.translation.requestValues())}`;
  }

  /** Loads the effects of the displayed kind if the view needs them. */
  draw() {
    this.drawChoice();
    const needed = state.view === 'effect' && !this.tensors.has(this.key);
    this.note.textContent = needed ? t('effect_loading') : this.summary();
    if (!needed) {
      this.error.textContent = '';
      return this.latest.cancel();
    }
    const { key } = this;
    const query = { request: state.translation.requestValues(), kind: state.kind, lead: state.lead };
    return this.latest.load(
      key,
      (signal) => callWithRetry(this.server.map_effects, query, null, null, signal),
      ({ effects }) => {
        if (this.tensors.size === MAX_TENSORS) this.tensors.clear();
        this.tensors.set(key, decodeArray(effects));
        this.note.textContent = this.summary();
        this.redraw();
      },
    );
  }

  /** The sums of the selected row over all heads and over the layer; for the encoder, those of all rows. */
  summary() {
    const { kind, layer, head } = state;
    const tensor = this.tensors.get(this.key);
    if (state.view !== 'effect' || !tensor) return '';
    if (head === 'max') return t('effect_no_maximum');
    const { rows } = axes(state.translation, kind, state);
    const own = kind === 'encoder' ? rows.flatMap(({ places }) => places) : rows[state.row]?.places;
    if (!own) return '';
    const [layers, heads, queries, keys] = tensor.shape;
    const totals = Array(layers).fill(0);
    for (let map = 0; map < layers * heads; map++)
      for (const query of own)
        for (let key = 0; key < keys; key++) totals[Math.floor(map / heads)] += tensor.numbers[(map * queries + query) * keys + key];
    const all = totals.reduce((sum, total) => sum + total, 0);
    const sums = t('effect_sum', { count: layers * heads, sum: formatEffect(all) });
    return layer === 'mean' ? sums : `${sums} ${t('effect_sum_layer', { layer: layer + 1, sum: formatEffect(totals[layer]) })}`;
  }

  /** Buttons: effects on the word, or on its lead. */
  drawChoice() {
    this.choice.hidden = state.view !== 'effect';
    this.choice.setAttribute('aria-label', t('effect_choice'));
    const button = (lead) => {
      const attributes = { type: 'button', 'aria-pressed': String(lead === state.lead), onclick: () => set({ lead }) };
      const encoder = state.kind === 'encoder' ? '_encoder' : '';
      return make('button', attributes, t(`effect_of_${lead ? 'lead' : 'word'}${encoder}`));
    };
    reconcile(this.choice, button(false), button(true));
  }

  /**
   * Effects of a view's cells, summed over the tokens of words and, for a mean, over heads. Null if they are not loaded,
   * or for a maximum, which has no effects.
   */
  cells({ kind, layer, head, rows, columns }) {
    const tensor = kind === state.kind ? this.tensors.get(this.key) : null;
    if (!tensor || head === 'max') return null;
    const [layers, heads, queries, keys] = tensor.shape;
    const indices = (index, count) => (index === 'mean' ? [...Array(count).keys()] : [index]);
    const starts = indices(layer, layers).flatMap((layerIndex) =>
      indices(head, heads).map((headIndex) => (layerIndex * heads + headIndex) * queries * keys),
    );
    const effects = new Float32Array(rows.length * columns.length);
    for (const [row, { places: own }] of rows.entries()) {
      for (const [column, { places: others }] of columns.entries()) {
        let sum = 0;
        for (const start of starts) for (const query of own) for (const key of others) sum += tensor.numbers[start + query * keys + key];
        effects[row * columns.length + column] = sum;
      }
    }
    return effects;
  }
}

/** Adds the effects to the views of a translation's heads while the view is Effect. */
export class EffectSource extends TranslationSource {
  /** @param {EffectMaps} effects */
  constructor(translation, effects) {
    super(translation);
    this.effects = effects;
  }

  /** The likeliest other token of each row; empty for a row of several tokens, of which each has its own. */
  rivals({ kind, rows }) {
    if (kind === 'encoder') return [];
    return rows.map(({ places }) => (places.length === 1 ? (otherTokens(this.translation.target[places[0]])[0]?.[0] ?? '') : ''));
  }

  view(kind, head, showing) {
    const view = super.view(kind, head, showing);
    return showing.view === 'effect' ? { ...view, effects: this.effects.cells(view), rivals: state.lead ? this.rivals(view) : null } : view;
  }
}
