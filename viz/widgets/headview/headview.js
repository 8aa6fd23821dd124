// The attention view: head wall, large map and linked highlighting. It holds
// nothing of the page: what there is to see is its source, what one looks at is its store. Several live side by side.

import { make, replace, toggle } from '../core/dom.js';
import { on as onPage } from '../core/state.js';
import { LET_GO, comparing, same, shown } from '../core/store.js';
import { t } from '../core/words.js';
import { chooseKind, mountKinds } from '../parts/kinds.js';
import { mountLegend } from '../parts/legend.js';
import { quickPlotly } from '../parts/quickplotly.js';
import { turnButtons } from '../parts/turning.js';
import { differenceSays } from './comparison.js';
import { formOf, mountForms } from './forms.js';
import { mountList } from './list.js';
import { Maps } from './maps.js';
import { NO_MARKS, marksOf, meant } from './marks.js';
import { climbHead, pageHead } from './paging.js';
import { listenToPointer, placeOf } from './pointing.js';
import { mountReadout } from './readout.js';
import { mountSentence } from './sentence.js';
import { lightStrips } from './shading.js';
import { holdStill } from './still.js';
import { mountStrips } from './strips.js';
import { thereOf, veilStrips } from './veil.js';
import { mountWall } from './wall.js';

const PIN = ['M5 1.5h5l-.7 5 2.2 2.5h-8l2.2-2.5zM7.5 9v5'];
const ALL = ['kind', 'words', 'special', 'rescale', 'scale', 'palette', 'fit', 'still'];
const HEAD = ['layer', 'head', 'preview', 'pinned', 'view', 'threshold'];
const LOOK = ['row', 'column', 'hoverRow', 'hoverColumn', 'written'];

/**
 * A view of heads inside `root`. Options:
 * - `store`: {state, set, on} with the fields of `LOOK` and `SHOWING` (core/store.js); the selection comes and goes by it;
 * - `source()`: what there is to see (translationmaps.js says which methods it has), or nothing yet;
 * - `parts`: which of kinds, wall, hints, list, sums, pin, forms, sentence, strips, readout, legend there are; maps always are;
 * - `forms`: in which forms the maps can be seen;
 * - `redraws`: other fields of the store that change what `source()` gives; `open()`: whether anybody sees it;
 * - `does`: instead of changing the store, `choose(head, event)` (a click has an event, a key has none), `point(row, column)`, `pin(row, column)`, and what is pinned,
 *   `held()`; then `light(marks)` says what is lit;
 * - `named`: several neighbours may be lit at once, and get one name;
 * - `heading`: the level of the head's name; `wallName()` and `mapName(name)`: what is read out for wall and map.
 */
export function mount(root, options) {
  return new HeadView(root, options);
}

class HeadView {
  constructor(root, { store, source, parts = [], forms = ['matrix'], redraws = [], open = () => true, does = {}, ...names }) {
    this.root = root;
    this.store = store;
    this.forms = forms;
    this.open = open;
    this.sourceOf = source;
    this.parts = new Set(parts);
    this.marks = null;
    this.does = { ...this.ownDoes(), ...does };
    this.names = { heading: 'h2', named: false, wallName: () => t('wall'), mapName: (name) => name, ...names };
    this.build();
    listenToPointer(this.head, (event) => this.view && this.where(event), this.does);
    const everything = [...ALL, ...redraws];
    const changed = (names) => {
      if (names.some((name) => everything.includes(name))) this.draw();
      else if (names.some((name) => HEAD.includes(name))) this.turn(names);
      else this.light();
    };
    this.leaves = [store.on([...everything, ...HEAD, ...LOOK], changed), onPage(['theme', 'language'], () => this.draw())];
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(this.maps.element);
    this.draw();
  }

  /** Default pointer and keyboard actions. */
  ownDoes() {
    const { store } = this;
    return {
      choose: (head, _event = null) => store.set({ ...head, preview: null }),
      point: (row, column) => store.set({ hoverRow: row, hoverColumn: column }),
      pin: (row, column) => {
        const again = row === store.state.row && column === store.state.column;
        store.set({ ...LET_GO, row: again ? null : row, column: again ? null : column });
      },
      held: () => store.state,
      letGo: () => store.set(LET_GO),
    };
  }

  build() {
    const { parts, store } = this;
    const part = (name) => (parts.has(name) ? make('div', {}) : null);
    const names = ['kinds', 'wall', 'list', 'sentence', 'strips', 'readout', 'legend', 'forms'];
    const [kinds, wall, list, sentence, strips, readout, legend, forms] = names.map(part);
    const [previous, next] = turnButtons((step) => this.page(step));
    this.previous = previous;
    this.next = next;
    this.title = make(this.names.heading, { class: 'numeric' });
    this.announced = make('p', { class: 'hidden-text', 'aria-live': 'polite' }); // chosen heads, not those pointed at
    const [pin, pinText] = toggle(PIN, () => this.togglePin());
    this.pin = pin;
    this.pinText = pinText;
    this.end = make('div', { class: 'end' }, forms); // a host's own buttons stand there, too
    const turn = make('div', { class: 'turn' }, previous, next, this.title);
    this.topline = make('div', { class: 'topline' }, turn, parts.has('pin') ? this.pin : null, this.end);
    this.says = make('p', { class: 'says' });
    const named = this.names.named ? (axis, places) => this.source.words(this.view, axis, places) : null;
    this.maps = new Maps(quickPlotly(), store.state, { legend, options: { named } });
    const told = sentence ? make('div', { class: 'told' }, sentence, this.says) : this.says;
    const top = make('div', { class: 'heading' }, this.topline, this.announced, told);
    this.head = make('div', { class: 'head' }, top, strips, readout, this.maps.element, legend);
    this.hints = make('p', { class: 'keys' });
    this.show = make('div', { class: 'show' }, list); // a host's own controls stand below the list
    this.wallElement = wall ?? make('div', {});
    this.element = make('div', { class: 'stage' }, wall, list ? this.show : null, this.head);
    this.root.append(...[kinds, this.element].filter(Boolean));
    const choose = (head, event) => {
      if (event.shiftKey && parts.has('pin')) store.set({ pinned: head });
      this.does.choose(head, event);
    };
    const hints = parts.has('hints') ? this.hints : null;
    this.wall = mountWall(this.wallElement, { choose, preview: (preview) => store.set({ preview }) }, hints);
    this.grid = this.wall.grid;
    this.drawKinds = kinds && mountKinds(kinds, store, () => this.source);
    this.drawForms = forms && mountForms(forms, store, this.forms);
    this.strips = strips && mountStrips(strips);
    this.say = sentence && mountSentence(sentence);
    this.read = readout && mountReadout(readout);
    this.list = list && mountList(list, { sums: parts.has('sums') });
    this.drawLegend = legend && mountLegend(legend, store);
  }

  // ---------------------------------------------------------------- drawing

  /** Everything: another source, kind, or way of showing. */
  draw() {
    this.source = this.sourceOf();
    if (!this.source) this.view = null;
    if (!this.source || !this.open()) return;
    const { state } = this.store;
    if (this.marks) this.marks = NO_MARKS;
    holdStill(this, Boolean(state.still));
    this.drawKinds?.();
    this.wall.draw(this.source, state, this.names.wallName());
    this.strips?.draw(this.source.sentences(state.kind, state));
    this.drawHead();
  }

  /** Another head. */
  turn(changed) {
    if (!this.source || !this.open()) return;
    if (changed.some((name) => name !== 'preview' && name !== 'threshold')) this.wall.mark(this.store.state, this.chosen());
    this.drawHead();
  }

  chosen() {
    return this.source.fit(this.store.state.kind, this.store.state);
  }

  drawHead() {
    const { source, store } = this;
    const { state } = store;
    const form = formOf(this.forms, state);
    this.view = source.view(state.kind, source.fit(state.kind, shown(state)), state);
    this.other = comparing(state) ? source.view(state.kind, source.fit(state.kind, state.pinned), state) : null;
    this.drawTitle(state);
    this.drawForms?.();
    const name = this.names.mapName(this.title.textContent);
    if (!source.mapped) this.maps.clear();
    else this.maps.show(source, this.view, { other: this.other, form, name });
    this.drawLegend?.(this.view, this.other);
    this.drawSays();
    this.light();
  }

  drawTitle({ preview, pinned }) {
    this.title.textContent = this.source.headName(this.view);
    const chosen = this.source.headName(this.chosen());
    if (this.announced.textContent !== chosen) this.announced.textContent = chosen;
    this.title.classList.toggle('previewed', Boolean(preview) && !same(preview, this.chosen()));
    this.previous.setAttribute('aria-label', t('previous_head'));
    this.next.setAttribute('aria-label', t('next_head'));
    this.pin.setAttribute('aria-pressed', String(Boolean(pinned)));
    this.pin.title = this.pinText.textContent = t(pinned ? (this.other ? 'unpin' : 'pinned') : 'pin');
  }

  drawSays() {
    const form = formOf(this.forms, this.store.state);
    const now = meant(this.lit());
    replace(this.says, ...(this.other ? [differenceSays(this.other, this.view, form)] : this.source.says(this.view, now)));
  }

  /** Current highlight: set by the host, else from the store. */
  lit() {
    return this.marks ?? marksOf(this.store.state);
  }

  /** Highlight the hovered or pinned words in strips, labels, read-out and list. */
  light(marks = this.marks) {
    this.marks = marks;
    if (!this.view || !this.open()) return;
    const { source, view, other } = this;
    const all = this.lit();
    const now = meant(all);
    if (this.strips) lightStrips(this.strips, source, view, now, this.store.state);
    if (this.parts.has('written')) this.veil();
    this.maps.light(all);
    this.say?.(source, view, now, other);
    this.read?.(source, view, now, all.missing);
    this.list?.(source, view, now, Boolean(other));
    if (source.rest) this.drawSays();
  }

  /** Hide tokens that are not written yet. */
  veil() {
    const { written } = this.store.state;
    const { translation } = this.source;
    this.maps.veil(thereOf(translation, this.view, written));
    veilStrips(this.strips.elements(), translation.target, written);
  }

  resized() {
    if (this.view && this.open() && this.maps.resized()) this.drawHead();
  }

  // ---------------------------------------------------------------- pointer and keys

  /** Row and column under the pointer: on a map, at its labels, in the sentences. */
  where(event) {
    return this.source.mapped ? (this.maps.cellAt(event) ?? placeOf(this.source, this.view, event.target)) : null;
  }

  page(step) {
    if (this.source) this.does.choose(pageHead(this.source.wall(this.store.state.kind), this.chosen(), step));
  }

  climb(step) {
    this.does.choose(climbHead(this.source.wall(this.store.state.kind), this.chosen(), step));
  }

  chooseKind(kind) {
    chooseKind(this.store, this.source.translation, kind);
  }

  nextForm() {
    const { forms, store } = this;
    store.set({ view: forms[(forms.indexOf(formOf(forms, store.state)) + 1) % forms.length] });
  }

  /** The pin one row or column on. */
  walk(axis, step) {
    const { row, column } = this.does.held();
    const from = { row, column }[axis];
    const place = from === null ? 0 : Math.max(0, Math.min(this.view[`${axis}s`].length - 1, from + step));
    if (place !== from) this.does.pin(...Object.values({ row, column, [axis]: place }));
  }

  /** Set the selected head as A of a comparison, or end the comparison. */
  togglePin() {
    this.store.set({ pinned: this.store.state.pinned ? null : this.chosen() });
  }

  /** Clear the pins first, then end the comparison. */
  letGo() {
    const { row, column } = this.does.held();
    if (row !== null || column !== null || !this.store.state.pinned) this.does.letGo();
    else this.store.set({ pinned: null });
  }

  /** The view leaves the page: it hears of nothing any more. */
  close() {
    for (const leave of this.leaves) leave();
    this.observer.disconnect();
    this.maps.clear();
    this.element.remove();
  }
}
