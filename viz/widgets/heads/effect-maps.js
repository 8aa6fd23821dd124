// Effect view: the effect of each cell in nats on the word that its row writes, predicted by one backward pass per word.
// The effect is on the word's log probability or on its lead over the most probable other word. Encoder rows affect all
// words, so their cells show the effect on the whole translation or on the chosen word.

import { decodeArray } from '../core/base64-arrays.js';
import { callWithRetry } from '../core/boot.js';
import { make } from '../core/dom.js';
import { sentenceGap, t } from '../core/i18n.js';
import { reconcile } from '../core/reconcile.js';
import { LatestRequest } from '../core/latest-request.js';
import { set, state } from '../core/state.js';
import { otherTokens } from '../core/translation.js';
import { axes, formatEffect } from '../core/map-view.js';
import { getChosenRival, wordLabel } from '../core/written-word.js';
import { sumName } from '../parts/head-names.js';
import { TranslationSource } from '../headview/translation-source.js';

const MAX_TENSORS = 6; // cached tensors: three kinds, each on words and on leads

export class EffectMaps {
  /**
   * @param {import('../core/server.js').Server} server
   * @param {() => void} redraw called when effects are loaded
   */
  constructor(server, redraw) {
    this.server = server;
    this.redraw = redraw;
    /** @type {Map<string, import('../core/base64-arrays.js').Tensor>} */
    this.tensors = new Map(); // query → [layers, heads, queries, keys]
    /** @type {Map<string, string>} */
    this.rivals = new Map(); // query → label of the rival token
    this.note = make('p', { class: 'quiet', role: 'status' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.choice = make('div', { class: 'segments', role: 'group' });
    this.element = make('div', { class: 'effect-status' }, this.choice, this.note, this.error);
    this.latest = new LatestRequest(this.element, this.error, 'error_our_fault');
  }

  /** Position of the chosen word if effects are on one word; null: on all words. */
  get word() {
    return state.kind === 'encoder' ? state.word : null;
  }

  get query() {
    const { kind, lead } = state;
    const rival = lead && this.word !== null ? (getChosenRival(state, this.word)?.id ?? null) : null;
    return { request: state.translation.requestValues(), kind, lead, place: this.word, rival };
  }

  get key() {
    return JSON.stringify(this.query);
  }

  /** The names of the chosen word and of its rival; null if the effects are on all words. */
  subject() {
    if (this.word === null) return null;
    const { translation } = state;
    const rival = this.rivals.get(this.key) ?? otherTokens(translation.target[this.word])[0]?.[0] ?? '–';
    return { word: wordLabel(translation, state, this.word), rival: state.lead ? rival : '' };
  }

  /** Loads the effects of the displayed kind if the view needs them. */
  draw() {
    this.drawChoice();
    const { key, query } = this;
    const isNeeded = state.view === 'effect' && !this.tensors.has(key);
    this.note.textContent = isNeeded ? t('effect_loading') : this.summary();
    if (!isNeeded) {
      this.error.textContent = '';
      return this.latest.cancel();
    }
    return this.latest.load(
      key,
      (signal) => callWithRetry(this.server.map_effects, query, null, null, signal),
      ({ effects, rival }) => {
        if (this.tensors.size === MAX_TENSORS) this.tensors.clear();
        this.tensors.set(key, decodeArray(effects));
        if (rival) this.rivals.set(key, rival.label);
        this.note.textContent = this.summary();
        this.redraw();
      },
    );
  }

  /** Text with the selected row's effect, summed over all heads and over those of the layer. For the encoder, over all rows. */
  summary() {
    const { kind, layer } = state;
    const tensor = this.tensors.get(this.key);
    if (state.view !== 'effect' || !tensor) return '';
    const { rows } = axes(state.translation, kind, state);
    const queryPositions = kind === 'encoder' ? rows.flatMap(({ places }) => places) : rows[state.row]?.places;
    if (!queryPositions) return '';
    const [layers, heads, queries, keys] = tensor.shape;
    const totals = Array(layers).fill(0);
    for (let map = 0; map < layers * heads; map++)
      for (const query of queryPositions)
        for (let key = 0; key < keys; key++) totals[Math.floor(map / heads)] += tensor.numbers[(map * queries + query) * keys + key];
    const totalEffect = totals.reduce((sum, total) => sum + total, 0);
    const sums = t('effect_sum', { count: layers * heads, sum: formatEffect(totalEffect) });
    const layerText = layer === 'mean' ? [] : [t('effect_sum_layer', { layer: layer + 1, sum: formatEffect(totals[layer]) })];
    return [sums, ...layerText, ...(kind === 'encoder' && this.word === null ? [t('effect_choose_word')] : [])].join(sentenceGap());
  }

  /** Buttons: effects on the word, or on its lead; with a chosen word, also on the whole translation. */
  drawChoice() {
    this.choice.hidden = state.view !== 'effect';
    this.choice.setAttribute('aria-label', t('effect_choice'));
    const subject = this.subject();
    const suffix = state.kind === 'encoder' && !subject ? '_encoder' : '';
    const button = (changes, name) => {
      const isPressed = Object.entries(changes).every(([field, value]) => value === state[field]);
      return make('button', { type: 'button', 'aria-pressed': String(isPressed), onclick: () => set(changes) }, name);
    };
    reconcile(
      this.choice,
      subject && button({ word: null }, t('effect_of_word_encoder')),
      button({ lead: false }, subject ? t('effect_of_chosen', { word: subject.word }) : t(`effect_of_word${suffix}`)),
      button({ lead: true }, t(`effect_of_lead${suffix}`)),
    );
  }

  /** Effects of a view's cells, summed over the tokens of words and, for a mean, over heads. Null if they are not loaded. */
  cells({ kind, layer, head, rows, columns }) {
    const tensor = kind === state.kind ? this.tensors.get(this.key) : null;
    if (!tensor) return null;
    const [layers, heads, queries, keys] = tensor.shape;
    const indices = (index, count) => (typeof index === 'string' ? [...Array(count).keys()] : [index]);
    const starts = indices(layer, layers).flatMap((layerIndex) =>
      indices(head, heads).map((headIndex) => (layerIndex * heads + headIndex) * queries * keys),
    );
    const effects = new Float32Array(rows.length * columns.length);
    for (const [row, { places: queryPositions }] of rows.entries()) {
      for (const [column, { places: keyPositions }] of columns.entries()) {
        let sum = 0;
        for (const start of starts)
          for (const query of queryPositions) for (const key of keyPositions) sum += tensor.numbers[start + query * keys + key];
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

  /** The most probable other token of each row; "" for a word of several tokens, which have different rivals. */
  rivals({ kind, rows }) {
    if (kind === 'encoder') return [];
    return rows.map(({ places }) => (places.length === 1 ? (otherTokens(this.translation.target[places[0]])[0]?.[0] ?? '') : ''));
  }

  /** Caption of the cells of several heads: effects are summed, weights are averaged. */
  get averageName() {
    return state.view === 'effect' ? t('sum_short') : t('mean_short');
  }

  headName(head) {
    return state.view === 'effect' ? sumName(head) : super.headName(head);
  }

  /** Effects have no maximum over heads. */
  wallLayout(kind, displayOptions) {
    const rows = super.wallLayout(kind, displayOptions);
    return displayOptions?.view === 'effect' ? rows.map((heads) => heads.filter(({ head }) => head !== 'max')) : rows;
  }

  /** Keys of the chosen word, which is framed in the translation. */
  chosenKeys() {
    const { word } = this.effects;
    if (word === null || state.view !== 'effect') return [];
    const { rows } = axes(this.translation, 'cross', { words: state.words, special: true });
    return this.keys(
      'cross',
      'rows',
      rows.find(({ places }) => places.includes(word)),
    );
  }

  view(kind, head, displayOptions) {
    const view = super.view(kind, head, displayOptions);
    if (displayOptions.view !== 'effect') return view;
    const effects = this.effects.cells(view);
    return { ...view, effects, rivals: state.lead ? this.rivals(view) : null, subject: this.effects.subject() };
  }
}
