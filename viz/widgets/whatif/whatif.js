// The What-if tab. Left: the wall, where clicks change heads. Middle: the words, or a map before and after. Right: interventions.

import { Translation } from '../core/translation.js';
import { callWithRetry } from '../core/boot.js';
import { make, isTextField } from '../core/dom.js';
import { LatestRequest } from '../core/latest-request.js';
import { ready } from '../core/page.js';
import { reconcile } from '../core/reconcile.js';
import { on, pageStore, state } from '../core/state.js';
import { NO_SELECTION, VIEW_STATE, createStore } from '../core/store.js';
import { t } from '../core/i18n.js';
import { mount as mountHeadView } from '../headview/head-view.js';
import { mountKeyboard } from '../headview/keyboard.js';
import { ChangedSource } from './changed-source.js';
import { ChangedSentence } from './changed-sentence.js';
import { WordComparison } from './word-comparison.js';
import {
  BRUSHES,
  removeAllButOne,
  borrowMap,
  interventionAt,
  interventions,
  copyHead,
  describeEffect,
  toggleHead,
  redo,
  undo,
} from './interventions.js';
import { Brushes } from './brushes.js';
import { InterventionChips, LayerParts, SourceWords, TryList } from './controls.js';
import { Difference } from './difference.js';
import { listExamples } from './examples.js';
import { MapSource } from './map-source.js';
import { Importance } from './importance.js';
import { PairPatching } from './pair-patching.js';
import { WeightEditor } from './weight-editor.js';
import { Pruning } from './pruning.js';
import { ErrorNote } from './error-note.js';

const DEBOUNCE_MS = 150; // milliseconds between the last change and the request
const SIDES = ['before', 'changed'];
const PANES = ['words', 'map'];
const REMOVE = BRUSHES.find(({ name }) => name === 'remove');
const DISPLAY_FIELDS = ['kind', 'words', 'special', 'rescale', 'scale', 'palette', 'fit', 'theme', 'language'];

/** @param {import('../core/server.js').Mounted} mounted */
export async function mount({ element, server }) {
  await ready;
  new WhatIfTab(element, server);
}

class WhatIfTab {
  /** @param {import('../core/server.js').Server} server */
  constructor(root, server) {
    this.root = root;
    this.server = server;
    this.isRejected = false; // whether the server has rejected the interventions
    this.result = null; // the server's result; null without interventions
    this.base = null; // the translation that the result belongs to
    this.ownOutput = null; // the model's output without interventions and reranking, if reranking changed it
    root.classList.add('explorer', 'columns');
    on(['tab', 'translation', 'interventions'], () => this.update());
    on(['busy'], () => root.classList.toggle('busy', state.busy));
    this.update();
  }

  isVisible() {
    return state.tab === 'whatif' && Boolean(this.headView) && Boolean(state.translation);
  }

  build() {
    const { row, column, hoverRow, hoverColumn, preview, pinned } = VIEW_STATE;
    this.wordComparison = new WordComparison();
    this.sentence = new ChangedSentence();
    this.errorNote = new ErrorNote((action) => this.getField(action));
    this.store = createStore(
      { row, column, hoverRow, hoverColumn, preview, pinned, side: 'changed', brush: 'remove', pane: 'words', answer: 0 },
      pageStore,
    );
    this.latest = new LatestRequest(this.root, this.errorNote.element, 'error_our_fault');
    this.headView = mountHeadView(this.root, {
      ...{ store: this.store, source: () => this.source(), isVisible: () => this.isVisible(), redraws: ['side', 'answer'] },
      ...{ parts: ['kinds', 'wall', 'strips', 'readout', 'legend'], viewModes: ['matrix'] },
      callbacks: { choose: (head, event) => this.choose(head, event) },
      shortKinds: () => true,
      wallName: () => t('whatif_wall'),
    });
    this.buildWall();
    this.buildMiddle();
    this.buildChanges();
    this.store.on([...DISPLAY_FIELDS, 'side', 'brush', 'answer', 'pane'], () => this.isVisible() && this.draw());
    this.store.on(['row', 'column', 'layer', 'head', 'preview'], () => this.isVisible() && this.drawHead());
    mountKeyboard(() => (this.isVisible() ? this.headView : null));
    document.addEventListener('keydown', (event) => this.onKeydown(event));
  }

  /** The wall, with the actions above it and the controls of layers and all heads below it. */
  buildWall() {
    this.description = make('p', { class: 'quiet' });
    this.brushes = new Brushes(this.store);
    this.mapSource = new MapSource(this.store);
    this.wallButtons = make('div', { class: 'more' });
    this.parts = new LayerParts();
    this.importance = new Importance(
      this.server,
      () => this.headView,
      () => this.pruning?.draw(state.translation, this.result),
    );
    const { wallElement, kindsElement } = this.headView;
    wallElement.prepend(kindsElement, this.description, this.brushes.element, this.mapSource.element);
    wallElement.append(this.wallButtons, this.parts.element, this.importance.element);
  }

  /** The words or the map. */
  buildMiddle() {
    this.panes = make('div', { class: 'segments', role: 'group' });
    this.sides = make('div', { class: 'segments', role: 'group' });
    this.headView.end.append(this.sides);
    this.weight = new WeightEditor(this.store, () => this.headView);
    this.difference = new Difference(() => this.headView.view);
    this.headView.maps.element.before(this.weight.element);
    this.headView.head.append(this.difference.element);
    const bar = make('div', { class: 'topline' }, this.wordComparison.title, make('div', { class: 'end' }, this.panes));
    this.rerankingNote = make('p', { class: 'quiet' });
    this.patching = new PairPatching(this.server);
    const views = [this.wordComparison.element, this.rerankingNote, this.patching.element, this.headView.head];
    this.middle = make('div', { class: 'middle' }, bar, ...views);
    this.headView.element.append(this.middle);
  }

  /** The result as one number, the list of interventions, and examples. */
  buildChanges() {
    this.chips = new InterventionChips();
    this.examples = new TryList(() => listExamples(state.translation, this.original));
    this.pruning = new Pruning(this.server, this.importance);
    this.words = new SourceWords();
    const parts = [this.wordComparison.total, this.chips.element, this.errorNote.defaultParent, this.examples.element];
    this.headView.element.append(make('div', { class: 'ask' }, ...parts, this.words.element, this.pruning.element));
  }

  /** The translation without interventions. If reranking chose the page's translation, it is the model's own output. */
  get original() {
    return this.base === state.translation && this.ownOutput ? this.ownOutput : state.translation;
  }

  /** Source of the displayed maps, without or with the interventions. */
  source() {
    const current = this.store.state.side === 'changed' && this.result ? this.result.answer : this.original;
    if (this.maps?.translation !== current) this.maps = current && new ChangedSource(current);
    return this.maps;
  }

  update() {
    const { translation } = state;
    if (state.tab !== 'whatif' || !translation) return;
    if (!this.headView) this.build();
    const changes = interventions();
    this.isRejected = false;
    const request = translation.requestValues();
    if (!changes.length && !translation.isOverruled) {
      this.latest.cancel();
      this.errorNote.element.textContent = '';
      this.onAnswer(null, translation);
      return;
    }
    this.drawControls();
    this.wordComparison.showPending(changes, translation);
    this.sentence.showPending(changes, translation);
    const key = JSON.stringify([request, changes]);
    this.latest.load(
      key,
      async (signal) => {
        const { generation } = this.latest;
        await new Promise((resolve) => setTimeout(resolve, DEBOUNCE_MS)); // debounce slider drags
        if (generation !== this.latest.generation) return null;
        try {
          return await callWithRetry(this.server.changed_translation, { request, interventions: changes }, null, null, signal);
        } catch (error) {
          if (generation === this.latest.generation) {
            this.isRejected = true;
            this.onAnswer(null, translation); // the old result belongs to other interventions
            this.errorNote.moveToField(error.fault);
          }
          throw error;
        }
      },
      ({ own, ...result }) => {
        this.errorNote.element.textContent = '';
        const changed = changes.length ? { ...result, answer: new Translation(result.answer), held: new Translation(result.held) } : null;
        this.onAnswer(changed, translation, own && new Translation(own));
      },
    );
  }

  /** The field that sets this action. */
  getField(action) {
    if (action === 'drag') return this.weight.slider;
    return ['mask', 'erase', 'swap'].includes(action) ? this.words.pair.field : null;
  }

  /** Shows the result for a translation; `own`: the model's unreranked output, if it differs. */
  onAnswer(result, translation, own = null) {
    this.result = result;
    if (own || this.base !== translation) this.ownOutput = own;
    this.base = translation;
    this.store.set({ ...NO_SELECTION, answer: this.store.state.answer + 1 });
    this.headView.draw();
    this.draw();
  }

  draw() {
    if (this.base !== state.translation) return; // wait for the result
    this.wordComparison.draw(this.result, this.original, { changes: interventions(), isRejected: this.isRejected });
    this.sentence.draw(this.result, this.original, interventions());
    this.drawControls();
    const segment = (field, selected, name, phrase) => {
      const onclick = () => this.store.set({ [field]: name, ...NO_SELECTION });
      const disabled = field === 'side' && !this.result;
      return make('button', { type: 'button', 'aria-pressed': String(name === selected), disabled, onclick }, t(phrase));
    };
    const { pane, side } = this.store.state;
    this.middle.dataset.pane = pane;
    this.panes.setAttribute('aria-label', t('whatif_panes'));
    reconcile(this.panes, ...PANES.map((name) => segment('pane', pane, name, `whatif_pane_${name}`)));
    this.sides.setAttribute('aria-label', t('whatif_sides'));
    reconcile(this.sides, ...SIDES.map((name) => segment('side', this.result ? side : 'before', name, `whatif_side_${name}`)));
    this.drawHead();
  }

  drawControls() {
    this.rerankingNote.textContent = state.translation.isReadBack ? t('own_choice') : '';
    this.chips.draw(state.translation.source_text);
    this.examples.draw(this.result);
    this.description.textContent = t('whatif_says');
    this.brushes.draw();
    this.mapSource.draw(state.translation);
    this.words.draw(state.translation);
    this.parts.draw();
    this.importance.draw(state.translation);
    this.pruning.draw(state.translation, this.result);
    this.patching.draw(state.translation);
    this.markWall();
  }

  drawHead() {
    const { kind, layer, head, translation } = state;
    const isSingleHead = typeof layer === 'number' && typeof head === 'number';
    const button = (onclick, text, disabled = false) => make('button', { type: 'button', class: 'link', disabled, onclick }, text);
    const removeOthersText = t('whatif_all_but', { head: isSingleHead ? t('whatif_head', { layer: layer + 1, head: head + 1 }) : '–' });
    const removeOthers = () => removeAllButOne(kind, { layer, head }, translation.layers(kind), translation.heads(kind));
    const removeKind = () => toggleHead(kind, { layer: 'mean', head: 'mean' }, REMOVE);
    const removeKindText = t('whatif_whole_kind', { kind: t(`kind_${kind}_short`) });
    reconcile(this.wallButtons, button(removeKind, removeKindText), button(removeOthers, removeOthersText, !isSingleHead));
    this.importance.drawPairButton();
    this.weight.draw(this.headView.view);
    this.difference.draw(this.result && { before: this.original, held: this.result.held });
  }

  /** Marks heads with interventions on the wall. */
  markWall() {
    for (const button of this.headView.grid.buttons()) {
      const buttonHead = { layer: toIndex(button.dataset.layer), head: toIndex(button.dataset.head) };
      const intervention = buttonHead.head === 'max' ? null : interventionAt(state.kind, buttonHead);
      button.dataset.changed = intervention?.action ?? '';
      const name = this.headView.source.headName(buttonHead);
      button.setAttribute('aria-label', intervention ? t('whatif_chip', { what: name, how: describeEffect(intervention) }) : name);
    }
  }

  /** A click selects a head and applies the brush, which may only show the head's map; keys only select. */
  choose(head, event) {
    const brush = BRUSHES.find(({ name }) => name === this.store.state.brush);
    const showsHead = Boolean(event) && brush.name === 'look';
    this.store.set({ ...head, preview: null, ...(showsHead ? { pane: 'map' } : {}) });
    if (!event || showsHead) return;
    if (this.mapSource.isOpenFor(brush.name)) this.applyMapSource(brush.name, head);
    else toggleHead(state.kind, head, brush);
  }

  /** Replaces the map of a head with another head's map, or with its own map for another sentence. */
  applyMapSource(brushName, head) {
    const { kind, translation } = state;
    const source = this.mapSource.readSource(head);
    if (!source) return; // the form shows the error
    if (brushName === 'copy') copyHead(kind, head, source);
    else borrowMap(kind, head, source, translation.layers(kind));
  }

  onKeydown(event) {
    if (!this.isVisible() || event.ctrlKey || event.metaKey || event.altKey || isTextField(event.target)) return;
    const { layer, head, kind } = state;
    const action = { x: () => head !== 'max' && toggleHead(kind, { layer, head }, REMOVE), u: undo, r: redo }[event.key.toLowerCase()];
    if (action) event.preventDefault();
    action?.();
  }
}

const toIndex = (text) => (/^\d+$/.test(text) ? Number(text) : text); // 'mean' and 'max' are no indices
