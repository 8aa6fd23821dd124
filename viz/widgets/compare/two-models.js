// Two-models tab: compares the page's model with a second one on the same sentence. By default the second one
// translates back, and its map is transposed to the same axes. Selecting heads sends no request.

import { Translation } from '../core/translation.js';
import { defaultHead } from '../core/default-head.js';
import { callWithRetry } from '../core/boot.js';
import { make, replace } from '../core/dom.js';
import { LatestRequest } from '../core/latest-request.js';
import { ready } from '../core/page.js';
import { on, pageStore, set, state } from '../core/state.js';
import { NO_SELECTION, createStore } from '../core/store.js';
import { nearestHead, threeDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { currentViewMode, mountViewModes } from '../headview/view-modes.js';
import { mountKeyboard } from '../headview/keyboard.js';
import { headBelow, nextHead } from '../headview/head-navigation.js';
import { TranslationSource } from '../headview/translation-source.js';
import { chooseKind, mountKinds } from '../parts/kind-buttons.js';
import { SecondModelChooser, comparisonMode, secondRequest } from './second-model.js';
import { HeadSimilarity } from './head-similarity.js';
import { itemOfUnit, comparisonText, secondText, unitOfItem } from './common-words.js';
import { TokenMatching } from './token-matching.js';
import { SimilarHeads } from './similar-heads.js';
import { ModelPanel } from './model-panel.js';
import { VIEW_MODES, ThreeMaps } from './three-maps.js';
import { transposedTranslation } from './transposed.js';

const CHOICE_FIELDS = ['beside', 'besideBeam', 'besideSame'];
const DISPLAY_FIELDS = ['kind', 'scale', 'palette', 'fit', 'theme', 'language', 'view'];
const NO_CELL = { row: null, column: null };

/** @param {import('../core/server.js').Mounted} mounted */
export async function mount({ element, server, props }) {
  await ready;
  new TwoModelsTab(element, server, JSON.parse(props.config));
}

class TwoModelsTab {
  /** @param {import('../core/server.js').Server} server */
  constructor(root, server, config) {
    this.root = root;
    this.server = server;
    this.config = config;
    this.comparison = null; // the second translation and the token alignment
    this.hover = NO_CELL;
    this.pinned = NO_CELL; // a pin on a word that only the second model has; other pins are the page's
    this.active = 0; // index of the side that handles keys
    root.classList.add('explorer');
    on(['tab', 'translation', ...CHOICE_FIELDS], () => this.update());
    on(['busy'], () => root.classList.toggle('busy', state.busy));
    this.update();
  }

  isVisible() {
    return state.tab === 'beside' && Boolean(this.sides) && Boolean(state.translation);
  }

  build() {
    this.store = createStore({ previews: [null, null] });
    const preview = (number) => (head) => {
      const previews = [null, null];
      previews[number] = head;
      this.store.set({ previews });
    };
    this.sides = ['A', 'B'].map(
      (letter, number) => new ModelPanel(letter, { choose: (head) => this.choose(number, head), preview: preview(number) }),
    );
    for (const [number, side] of this.sides.entries()) {
      for (const name of ['focusin', 'pointerdown']) side.element.addEventListener(name, () => (this.active = number));
    }
    this.latest = new LatestRequest(this.root, this.sides[1].error, 'beside_failed');
    this.choices = new SecondModelChooser(this.config);
    this.similarHeads = new SimilarHeads({
      choose: (head) => this.choose(1, head),
      follow: () => set({ besideHead: state.besideHead ? null : this.heads()[1] }),
    });
    this.maps = new ThreeMaps({ onHover: (row, column) => this.setHover(row, column), onPin: (row, column) => this.pin(row, column) });
    const [kinds, viewModes] = [make('div', {}), make('div', {})];
    this.kinds = kinds;
    this.drawKinds = mountKinds(kinds, pageStore, () => new TranslationSource(state.translation));
    this.drawViewModes = mountViewModes(viewModes, pageStore, VIEW_MODES);
    this.shares = make('span', { class: 'shares', 'aria-live': 'polite' });
    this.sentences = [0, 1].map(() => make('span', { class: 'look' }));
    this.line = make('div', { class: 'line' }, this.shares, ...this.sentences, viewModes);
    const header = make('div', { class: 'tops' }, ...this.sides.map((side) => side.element), this.similarHeads.element);
    this.rerankingNote = make('p', { class: 'quiet alone' });
    this.root.append(this.choices.element, this.choices.note, this.rerankingNote, kinds, header, this.line, this.maps.element);
    on(DISPLAY_FIELDS, () => this.isVisible() && this.draw());
    on(['layer', 'head', 'besideHead'], () => this.isVisible() && this.drawHeads());
    on(['row', 'column', 'words', 'special'], () => this.isVisible() && this.highlight());
    this.store.on(['previews'], () => this.isVisible() && this.drawHeads());
    mountKeyboard(() => (this.isVisible() ? this.keyboardTarget() : null));
  }

  update() {
    if (state.tab !== 'beside' || !state.translation) return;
    if (!this.sides) this.build();
    [this.hover, this.pinned] = [NO_CELL, NO_CELL];
    const query = this.request();
    const key = JSON.stringify(query);
    if (key !== this.latest.shownKey) {
      if (!this.comparison) this.sides[1].clear(t('beside_waiting', { model: query.other.model }));
      this.comparison = null;
      this.sides[1].error.textContent = '';
    }
    this.draw();
    this.latest.load(
      key,
      (signal) => this.fetchSecond(query, signal),
      (response) => this.onAnswer(response, key),
    );
  }

  request() {
    const back = comparisonMode(this.config, state.translation, this.second) === 'back';
    return { request: state.translation.requestValues(), other: secondRequest(this.config, state.translation, this.second), back };
  }

  async fetchSecond(query, signal) {
    const { generation } = this.latest;
    try {
      return { ...(await callWithRetry(this.server.second_translation, query, null, null, signal)), back: query.back };
    } catch (error) {
      if (generation === this.latest.generation) {
        this.second = null;
        this.sides[1].clear();
      }
      throw error;
    }
  }

  onAnswer(response, key) {
    this.second = new Translation(response.answer);
    this.config.models = response.models;
    const { own: ownValues, back } = response;
    const translation = back ? transposedTranslation(this.second) : this.second;
    this.comparison = { own: ownValues && new Translation(ownValues), translation, matching: new TokenMatching(response), back };
    // The target language of a multilingual model is known only after a translation.
    if (JSON.stringify(this.request()) !== key) this.update();
    else this.draw();
  }

  /** The first translation: the page's, without reranking if both searches use one model. */
  get first() {
    return this.comparison?.own ?? state.translation;
  }

  /** The displayed kind. The reverse model shares the axes of cross-attention only. */
  get kind() {
    return comparisonMode(this.config, state.translation, this.second) === 'back' ? 'cross' : state.kind;
  }

  /** The selected head of each side; for the second model the chosen one, or the most similar one. */
  heads() {
    const [first, second] = this.store.state.previews;
    const a = first ?? this.firstHead();
    if (!this.similarity) return [a, a];
    const best = () => this.similarity.rankHeads(a)[0] ?? a;
    return [a, second ?? nearestHead(this.comparison.translation, this.kind, state.besideHead ?? best())];
  }

  firstHead() {
    const { first: translation } = this;
    const { layer, head, kind, lastHeads } = state;
    const selection = kind === this.kind ? { layer, head } : (lastHeads[this.kind] ?? defaultHead(translation));
    return nearestHead(translation, this.kind, selection);
  }

  choose(number, head) {
    this.store.set({ previews: [null, null] });
    if (number) set({ besideHead: head });
    else if (state.kind === this.kind) set(head);
    else set({ kind: this.kind, ...NO_SELECTION, ...head });
  }

  draw() {
    const { kind, comparison: result, first: translation } = this;
    const mode = comparisonMode(this.config, state.translation, this.second);
    const back = mode === 'back';
    this.similarity = result && new HeadSimilarity(result.matching, [translation, result.translation], kind, result.back);
    this.choices.draw(state.translation, this.second);
    const losesReranking = mode === 'same' && !state.besideSame && state.translation.model.defaults?.back_weight > 0;
    this.rerankingNote.textContent = losesReranking ? t('own_choice') : '';
    this.kinds.hidden = back;
    this.drawKinds();
    this.drawViewModes();
    this.sides[0].draw(translation, { kind, text: [translation.text.trim() ? translation.text : t('beside_empty')] });
    if (result) this.sides[1].draw(result.translation, { kind, back: result.back, text: secondText(translation, result) });
    this.drawHeads();
  }

  drawHeads() {
    const heads = this.heads();
    this.sides[0].mark(this.firstHead());
    this.similarHeads.element.classList.toggle('vacant', !this.similarity);
    for (const element of [this.line, this.maps.element]) element.hidden = !this.similarity;
    if (!this.similarity) return;
    const { previews } = this.store.state;
    this.sides[1].mark(previews[1] ? nearestHead(this.comparison.translation, this.kind, state.besideHead ?? heads[1]) : heads[1]);
    const ranking = this.similarity.rankHeads(heads[0]);
    this.similarHeads.draw(ranking, heads, !state.besideHead);
    this.maps.show({ similarity: this.similarity, heads, kind: this.kind, back: this.comparison.back });
    this.drawShare(heads);
    this.highlight();
  }

  drawShare(heads) {
    const { similarity, kind, comparison: result } = this;
    const shared = similarity.sharedAttention(...heads);
    const maximum = heads.some(({ head }) => head === 'max');
    this.shares.textContent = shared
      ? t('beside_share_of', { share: threeDecimals(shared.share) })
      : t(maximum ? 'beside_maximum' : 'beside_no_rows');
    const rowCountText = shared ? t('beside_measure', { rows: shared.rows, all: similarity.units.rows.length }) : '';
    const matchRule = t(result.matching.hasSameTexts(kind, result.back ? 'columns' : 'rows') ? 'beside_by_characters' : 'beside_by_words');
    this.shares.title = [rowCountText, result.back ? t('beside_rescaled') : '', matchRule].filter(Boolean).join(' ');
  }

  /** The page's pin in common words, or the pin on a word that the first model lacks. */
  pinnedCells() {
    if (!this.similarity) return NO_CELL;
    const { translation, kind } = state;
    if (kind !== this.kind || this.first !== translation) return this.pinned;
    const unitIndex = (axis, item) => unitOfItem(this.similarity.units, axis, translation, kind, state, item);
    const units = { row: unitIndex('rows', state.row), column: unitIndex('columns', state.column) };
    return units.row === null && units.column === null ? this.pinned : units;
  }

  setHover(row, column) {
    if (row === this.hover.row && column === this.hover.column) return;
    this.hover = { row, column };
    this.highlight();
  }

  pin(row, column) {
    const pins = this.pinnedCells();
    const isSamePin = pins.row === row && pins.column === column;
    this.clearPins();
    if (isSamePin) return;
    const { translation, kind } = state;
    const itemIndex = (axis, unit) => itemOfUnit(this.similarity.units, axis, translation, kind, state, unit);
    const cell = { row: itemIndex('rows', row), column: itemIndex('columns', column) };
    const isUnmatched = (row !== null && cell.row === null) || (column !== null && cell.column === null);
    if (isUnmatched || kind !== this.kind || this.first !== translation) this.pinned = { row, column };
    else set({ ...NO_SELECTION, ...cell });
    this.highlight();
  }

  clearPins() {
    this.pinned = NO_CELL;
    set(NO_SELECTION);
    this.highlight();
  }

  highlight() {
    if (!this.similarity) return;
    const pins = this.pinnedCells();
    const toLists = ({ row, column }) => ({ rows: row === null ? null : [row], columns: column === null ? null : [column] });
    this.maps.highlight({ hover: toLists(this.hover), pinned: toLists(pins), missing: '' });
    const cell = { row: this.hover.row ?? pins.row, column: this.hover.column ?? pins.column };
    if (this.hover.row !== null || this.hover.column !== null) Object.assign(cell, this.hover);
    const heads = this.heads();
    for (const [side, sentence] of this.sentences.entries()) replace(sentence, ...comparisonText(side, this.similarity, heads[side], cell));
  }

  /** Target of the head view's keyboard shortcuts (headview/keyboard.js): the side in use. */
  keyboardTarget() {
    const side = this.sides[this.active];
    const wall = side.maps?.wallLayout(this.kind);
    const moveHead = (step) => wall && this.choose(this.active, step(wall, side.head));
    return {
      view: this.similarity,
      root: this.root,
      element: this.maps.element,
      head: this.maps.element,
      grid: side.grid,
      store: pageStore,
      source: { translation: state.translation, kinds: this.kinds.hidden ? [] : side.maps?.kinds, merges: false },
      parts: new Set(),
      viewModes: VIEW_MODES,
      moveHead: (step) => moveHead((rows, head) => nextHead(rows, head, step)),
      moveLayer: (step) => moveHead((rows, head) => headBelow(rows, head, step)),
      chooseKind: (kind) => chooseKind(pageStore, state.translation, kind),
      nextViewMode: () => set({ view: VIEW_MODES[(VIEW_MODES.indexOf(currentViewMode(VIEW_MODES, state)) + 1) % VIEW_MODES.length] }),
      movePin: (axis, step) => this.movePin(axis, step),
      clearPins: () => this.clearPins(),
    };
  }

  /** Move the pin by one row or column. */
  movePin(axis, step) {
    const pins = this.pinnedCells();
    const count = this.similarity.units[`${axis}s`].length;
    const index = pins[axis] === null ? 0 : Math.max(0, Math.min(count - 1, pins[axis] + step));
    if (index !== pins[axis]) this.pin(...Object.values({ row: pins.row, column: pins.column, [axis]: index }));
  }
}
