// The attention view: head wall, large map and linked highlighting. Its data come from a source, its selection from a store.

import { make, replace, iconToggle } from '../core/dom.js';
import { on as onPage, state as pageState } from '../core/state.js';
import { isComparing, sameHead, shownHead } from '../core/store.js';
import { t } from '../core/i18n.js';
import { chooseKind, mountKinds } from '../parts/kind-buttons.js';
import { mountLegend } from '../parts/legend.js';
import { canvasPlotly } from '../parts/canvas-plotly.js';
import { stepButtons } from '../parts/step-buttons.js';
import { describeDifference } from './comparison.js';
import { getViewMode, mountViewModes } from './view-modes.js';
import { mountStrongestList } from './strongest-list.js';
import { createDefaultActions } from './default-actions.js';
import { MapArea } from './map-area.js';
import { NO_HIGHLIGHT, getHighlight, mergeHighlight } from './highlights.js';
import { findHeadBelow, nextHead } from './head-navigation.js';
import { mountPointer, findCell } from './pointer.js';
import { mountReadout } from './readout.js';
import { mountDescription } from './description.js';
import { shadeStrips } from './shading.js';
import { freezeHeights } from './stable-layout.js';
import { mountTokenStrips } from './token-strips.js';
import { countWrittenCells, hideUnwrittenTokens } from './unwritten.js';
import { mountHeadWall } from './head-wall.js';

const PIN = ['M5 1.5h5l-.7 5 2.2 2.5h-8l2.2-2.5zM7.5 9v5'];
const MAP_FIELDS = ['kind', 'words', 'special', 'rescale', 'averages', 'scale', 'palette', 'fit', 'still'];
const HEAD_FIELDS = ['layer', 'head', 'preview', 'pinned', 'view', 'threshold'];
const HIGHLIGHT_FIELDS = ['row', 'column', 'hoverRow', 'hoverColumn', 'written'];

/**
 * A view of heads inside `root`. Options:
 * - `store`: {state, set, on} with the selection (`VIEW_STATE` in core/store.js) and the display options;
 * - `source()`: the data, with the interface of `TranslationSource`, or null if nothing is loaded;
 * - `parts`: names of the optional parts to build: kinds, wall, hints, list, sums, pin, viewModes, sentence, strips,
 *   readout, legend, written;
 * - `viewModes`: names of the available view modes;
 * - `redraws`: more fields of the store that trigger a redraw; `isVisible()`: whether the view is visible;
 * - `callbacks`: overrides default actions: `choose(head, event)` (keys have no event), `onHover(row, column)`,
 *   `onPin(row, column)`, `clearPins()`, and `getPins()`. The host then calls `highlight(marks)`;
 * - `hosts`: elements outside the view: `sentence`, which describes the highlight, and `strips`, the sentences' words;
 * - `shortKinds()`: whether kinds have short names, followed by their number of heads;
 * - `heading`: tag of the head's name; `wallName()` and `mapName(name)`: accessible names of wall and map.
 */
export function mount(root, options) {
  return new HeadView(root, options);
}

class HeadView {
  constructor(
    root,
    {
      store,
      source,
      parts = [],
      viewModes = ['matrix'],
      redraws = [],
      isVisible = () => true,
      callbacks = {},
      hosts = /** @type {any} */ ({}),
      ...names
    },
  ) {
    this.root = root;
    this.store = store;
    this.viewModes = viewModes;
    this.isVisible = isVisible;
    this.getSource = source;
    this.parts = new Set(parts);
    this.hosts = hosts;
    this.marks = null;
    /** @type {ReturnType<typeof mountDescription>[]} */
    this.describes = [];
    this.callbacks = { ...createDefaultActions(store), ...callbacks };
    this.names = {
      heading: 'h2',
      shortKinds: () => false,
      wallName: () => t('wall'),
      mapName: (name) => name,
      ...names,
    };
    const { maps, wall } = this.build();
    this.maps = maps;
    this.wall = wall;
    mountPointer(this.head, (event) => this.view && this.cellUnder(event), this.callbacks);
    const redrawFields = [...MAP_FIELDS, ...redraws];
    const onChange = (names) => {
      if (names.some((name) => redrawFields.includes(name))) this.draw();
      else if (names.some((name) => HEAD_FIELDS.includes(name))) this.onHeadChanged(names);
      else this.highlight();
    };
    this.subscriptions = [
      store.on([...redrawFields, ...HEAD_FIELDS, ...HIGHLIGHT_FIELDS], onChange),
      onPage(['theme', 'language', 'beamer'], () => this.draw()),
    ];
    this.observer = new ResizeObserver(() => this.onResize());
    this.observer.observe(this.maps.element);
    this.draw();
  }

  /** Builds all elements. Returns the map and the wall, which every view has. */
  build() {
    const { parts, store, hosts } = this;
    const makePart = (name) => (parts.has(name) ? make('div', {}) : null);
    const names = ['kinds', 'wall', 'list', 'sentence', 'strips', 'readout', 'legend', 'viewModes'];
    const [kinds, wallPart, list, sentence, strips, readout, legend, viewModes] = names.map(makePart);
    const [previous, next] = stepButtons((step) => this.moveHead(step));
    this.previous = previous;
    this.next = next;
    this.title = make(this.names.heading, { class: 'numeric' });
    this.announced = make('p', { class: 'hidden-text', 'aria-live': 'polite' }); // selected heads, not hovered ones
    const [pin, pinText] = iconToggle(PIN, () => this.togglePin());
    this.pin = pin;
    this.pinText = pinText;
    this.end = make('div', { class: 'end' }, viewModes); // hosts may append buttons
    const turn = make('div', { class: 'turn' }, previous, next, this.title);
    this.topline = make('div', { class: 'topline' }, turn, parts.has('pin') ? this.pin : null, this.end);
    this.description = make('p', { class: 'says' });
    const maps = new MapArea(canvasPlotly(), store.state, { legend });
    const texts = sentence ? make('div', { class: 'told' }, sentence, this.description) : this.description;
    const top = make('div', { class: 'heading' }, this.topline, this.announced, texts);
    this.head = make('div', { class: 'head' }, top, strips, readout, maps.element, legend);
    this.hints = make('p', { class: 'keys' });
    this.show = make('div', { class: 'show' }, list); // hosts may append controls
    this.wallElement = wallPart ?? make('div', {});
    this.element = make('div', { class: 'stage' }, wallPart, list ? this.show : null, this.head);
    this.root.append(...[kinds, this.element].filter(Boolean));
    const choose = (head, event) => {
      if (event.shiftKey && parts.has('pin')) store.set({ pinned: head });
      this.callbacks.choose(head, event);
    };
    const keyHints = parts.has('hints') ? this.hints : null;
    const wall = mountHeadWall(this.wallElement, { choose, preview: (preview) => store.set({ preview }) }, keyHints);
    this.grid = wall.grid;
    this.kindsElement = kinds;
    this.drawKinds = kinds && mountKinds(kinds, store, () => this.source, this.names.shortKinds);
    this.drawViewModes = viewModes && mountViewModes(viewModes, store, this.viewModes);
    this.ownStrips = strips && mountTokenStrips(strips);
    this.describes = [sentence, hosts.sentence].filter(Boolean).map(mountDescription);
    this.read = readout && mountReadout(readout);
    this.list = list && mountStrongestList(list, { sums: parts.has('sums') });
    this.drawLegend = legend && mountLegend(legend, store);
    return { maps, wall };
  }

  /** The visible strips: those of the host, or the view's own in presentation mode. */
  get strips() {
    return this.hosts.strips && !pageState.beamer ? this.hosts.strips : this.ownStrips;
  }

  // ---------------------------------------------------------------- drawing

  /** Draws redrawFields, after a change of source, kind or display options. */
  draw() {
    this.source = this.getSource();
    if (!this.source) this.view = null;
    if (!this.source || !this.isVisible()) return;
    const { state } = this.store;
    if (this.marks) this.marks = NO_HIGHLIGHT;
    freezeHeights(this, Boolean(state.still));
    this.drawKinds?.();
    this.wall.draw(this.source, state, this.names.wallName());
    this.ownStrips?.draw(this.source.sentences(state.kind, state));
    this.drawHead();
  }

  /** Draws the head and updates the wall, after a change of head or view mode. */
  onHeadChanged(changed) {
    if (!this.source || !this.isVisible()) return;
    if (changed.some((name) => name !== 'preview' && name !== 'threshold')) this.wall.mark(this.store.state, this.updateSelection());
    this.drawHead();
  }

  updateSelection() {
    return this.source.nearestHead(this.store.state.kind, this.store.state);
  }

  drawHead() {
    const { source, store } = this;
    const { state } = store;
    const viewMode = getViewMode(this.viewModes, state);
    this.view = source.view(state.kind, source.nearestHead(state.kind, shownHead(state)), state);
    this.otherView = isComparing(state) ? source.view(state.kind, source.nearestHead(state.kind, state.pinned), state) : null;
    this.drawTitle(state);
    this.drawViewModes?.();
    const name = this.names.mapName(this.title.textContent);
    if (!source.mapped) this.maps.clear();
    else this.maps.show(source, this.view, { other: this.otherView, viewMode, name });
    this.drawLegend?.(this.view, this.otherView);
    this.drawStatus();
    this.highlight();
  }

  drawTitle({ preview, pinned }) {
    this.title.textContent = this.source.headName(this.view);
    const headName = this.source.headName(this.updateSelection());
    if (this.announced.textContent !== headName) this.announced.textContent = headName;
    this.title.classList.toggle('previewed', Boolean(preview) && !sameHead(preview, this.updateSelection()));
    this.previous.setAttribute('aria-label', t('previous_head'));
    this.next.setAttribute('aria-label', t('next_head'));
    this.pin.setAttribute('aria-pressed', String(Boolean(pinned)));
    this.pin.title = this.pinText.textContent = t(pinned ? (this.otherView ? 'unpin' : 'pinned') : 'pin');
  }

  drawStatus() {
    const viewMode = getViewMode(this.viewModes, this.store.state);
    const highlight = mergeHighlight(this.currentMarks());
    replace(
      this.description,
      ...(this.otherView ? [describeDifference(this.otherView, this.view, viewMode)] : this.source.captionElements(this.view, highlight)),
    );
  }

  /** Current highlight: set by the host, else from the store. */
  currentMarks() {
    return this.marks ?? getHighlight(this.store.state);
  }

  /** Highlights the hovered or pinned words in strips, labels, read-out and list. `marks`: see `NO_HIGHLIGHT`; null: the store's. */
  highlight(marks = this.marks) {
    this.marks = marks;
    if (!this.view || !this.isVisible()) return;
    const { source, view, otherView } = this;
    const currentMarks = this.currentMarks();
    const highlight = mergeHighlight(currentMarks);
    if (this.strips) shadeStrips(this.strips, source, view, highlight, this.store.state);
    if (this.parts.has('written')) this.hideUnwritten();
    this.maps.highlight(currentMarks);
    for (const describe of this.describes) describe(source, view, highlight, otherView);
    this.read?.(source, view, highlight, currentMarks.missing);
    this.list?.(source, view, highlight, Boolean(otherView));
    if (source.defaultWeights) this.drawStatus();
  }

  /** Hides tokens that are not written yet. */
  hideUnwritten() {
    const { written } = this.store.state;
    const { translation } = this.source;
    this.maps.hideUnwritten(countWrittenCells(translation, this.view, written));
    hideUnwrittenTokens(this.strips?.elements() ?? [], translation.target, written);
  }

  onResize() {
    if (this.view && this.isVisible() && this.maps.hasResized()) this.drawHead();
  }

  // ---------------------------------------------------------------- pointer and keys

  /** Row and column under the pointer, on a map, a label or a token of the sentences. */
  cellUnder(event) {
    return this.source.mapped ? (this.maps.cellAt(event) ?? findCell(this.source, this.view, event.target)) : null;
  }

  moveHead(step) {
    if (this.source)
      this.callbacks.choose(nextHead(this.source.wallLayout(this.store.state.kind, this.store.state), this.updateSelection(), step));
  }

  moveLayer(step) {
    this.callbacks.choose(findHeadBelow(this.source.wallLayout(this.store.state.kind, this.store.state), this.updateSelection(), step));
  }

  chooseKind(kind) {
    chooseKind(this.store, this.source.translation, kind);
  }

  nextViewMode() {
    const { viewModes, store } = this;
    store.set({ view: viewModes[(viewModes.indexOf(getViewMode(viewModes, store.state)) + 1) % viewModes.length] });
  }

  /** Moves the pin by `step` rows or columns. */
  movePin(axis, step) {
    const { row, column } = this.callbacks.getPins();
    const pinnedIndex = { row, column }[axis];
    const index = pinnedIndex === null ? 0 : Math.max(0, Math.min(this.view[`${axis}s`].length - 1, pinnedIndex + step));
    if (index !== pinnedIndex) this.callbacks.onPin(...Object.values({ row, column, [axis]: index }));
  }

  /** Pins the selected head as A of a comparison, or ends the comparison. */
  togglePin() {
    this.store.set({ pinned: this.store.state.pinned ? null : this.updateSelection() });
  }

  /** Clears the pins, or ends the comparison if no word is pinned. */
  clearPins() {
    const { row, column } = this.callbacks.getPins();
    if (row !== null || column !== null || !this.store.state.pinned) this.callbacks.clearPins();
    else this.store.set({ pinned: null });
  }

  /** Removes the view and its listeners. */
  destroy() {
    for (const unsubscribe of this.subscriptions) unsubscribe();
    this.observer.disconnect();
    this.maps.clear();
    this.element.remove();
  }
}
