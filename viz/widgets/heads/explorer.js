// The Heads tab: kinds, wall, one head large, comparison. It gets the numbers once; no click asks the server.

import { KINDS } from '../core/answer.js';
import { loadPlotly } from '../core/boot.js';
import { icon, make, narrow, replace, typing } from '../core/dom.js';
import { ready } from '../core/page.js';
import { LET_GO, comparing, on, set, shown, state } from '../core/state.js';
import { signed, three, view } from '../core/view.js';
import { t } from '../core/words.js';
import { climbLayer, pageHead } from '../parts/headgrid.js';
import { Heatmap, litLevels, paint } from '../parts/heatmap.js';
import { chooseKind, mountKinds } from '../parts/kinds.js';
import { mountLegend } from '../parts/legend.js';
import { headName, patternSays } from '../parts/naming.js';
import { Numbers } from '../parts/numbers.js';
import { mountList, mountReadout, top } from '../parts/readout.js';
import { labelRoom } from '../parts/room.js';
import { mountStrips } from '../parts/strips.js';
import { Lines } from './lines.js';
import { mountTakeAway } from './takeaway.js';
import { mountTools } from './tools.js';
import { mountWall } from './wall.js';

const VIEWS = ['matrix', 'lines', 'numbers'];
const BETWEEN = 24; // pixels between two maps side by side

export async function mount({ element, server }) {
  await ready;
  const plotly = await loadPlotly();
  if (narrow()) set({ fit: false }); // on a phone the whole map of a long sentence would have cells of two pixels
  new Explorer(element, plotly, server);
}

class Explorer {
  constructor(root, plotly, server) {
    this.plotly = plotly;
    this.maps = [];
    this.build(root, server);
    this.listen();
    const everything = ['answer', 'kind', 'words', 'special', 'rescale', 'scale', 'palette', 'fit', 'theme', 'language'];
    on(everything, () => this.draw());
    on(['layer', 'head', 'preview', 'pinned', 'view', 'threshold'], (changed) => this.turn(changed));
    on(['row', 'column', 'hoverRow', 'hoverColumn'], () => this.light());
    on(['busy'], () => this.root.classList.toggle('busy', state.busy));
    on(['tab'], () => state.tab === 'heads' && this.draw());
    new ResizeObserver(() => this.resized()).observe(this.area);
    this.draw();
  }

  build(root, server) {
    const div = () => make('div', {});
    const turn = (step, path) => make('button', { type: 'button', class: 'round', onclick: () => this.page(step) }, icon(18, [path], { width: 1.6 }));
    this.root = root;
    root.classList.add('explorer');
    root.tabIndex = -1;
    const kinds = div();
    const wall = div();
    const list = div();
    const tools = div();
    const note = make('p', {});
    const strips = div();
    const readout = div();
    const legend = div();
    this.previous = turn(-1, 'M11 4L6 9l5 5');
    this.next = turn(1, 'M7 4l5 5-5 5');
    this.title = make('h2', { class: 'numeric' });
    this.announced = make('p', { class: 'hidden-text', 'aria-live': 'polite' }); // chosen heads, not those pointed at
    this.pinText = make('span', {});
    const pin = icon(15, ['M5 1.5h5l-.7 5 2.2 2.5h-8l2.2-2.5zM7.5 9v5'], { width: 1.4 });
    this.pin = make('button', { type: 'button', class: 'pin', onclick: () => this.togglePin() }, pin, this.pinText);
    this.views = make('div', { class: 'segments', role: 'group' });
    this.takeAway = mountTakeAway(server);
    this.says = make('p', { class: 'says' });
    this.area = make('div', { class: 'maps' });
    const top_ = make('div', { class: 'topline' }, make('div', { class: 'turn' }, this.previous, this.next, this.title), this.pin);
    top_.append(make('div', { class: 'end' }, this.views, this.takeAway.element));
    this.legend = legend;
    const head = make('div', { class: 'head' }, top_, this.announced, this.says, strips, readout, this.area, legend);
    const stage = make('div', { class: 'stage' }, wall, make('div', { class: 'show' }, list, tools, note), head);
    root.append(kinds, stage);
    this.head = head;
    this.drawKinds = mountKinds(kinds);
    this.wall = mountWall(wall);
    this.strips = mountStrips(strips);
    this.read = mountReadout(readout);
    this.list = mountList(list);
    this.drawTools = mountTools(tools, note);
    this.drawLegend = mountLegend(legend);
  }

  // ---------------------------------------------------------------- drawing

  /** Everything: another sentence, kind, or way of showing. */
  draw() {
    if (!state.answer || state.tab !== 'heads') return;
    this.drawKinds();
    this.wall.draw();
    this.strips.draw();
    this.drawHead();
    this.drawTools(this.view);
  }

  /** Another head. */
  turn(changed) {
    if (!state.answer || state.tab !== 'heads') return;
    if (changed.some((name) => name !== 'preview' && name !== 'threshold')) this.wall.mark();
    this.drawHead();
    if (changed.some((name) => name !== 'preview')) this.drawTools(this.view);
  }

  drawHead() {
    const { answer, kind } = state;
    const { layer, head } = shown();
    this.view = view(answer, kind, layer, head);
    this.other = comparing() ? view(answer, kind, state.pinned.layer, state.pinned.head) : null;
    this.title.textContent = headName(layer, head);
    const chosen = headName(state.layer, state.head);
    if (this.announced.textContent !== chosen) this.announced.textContent = chosen;
    this.title.classList.toggle('previewed', Boolean(state.preview) && (layer !== state.layer || head !== state.head));
    this.previous.setAttribute('aria-label', t('previous_head'));
    this.next.setAttribute('aria-label', t('next_head'));
    this.pin.setAttribute('aria-pressed', String(Boolean(state.pinned)));
    this.pin.title = this.pinText.textContent = t(state.pinned ? (this.other ? 'unpin' : 'pinned') : 'pin');
    this.takeAway.draw();
    replace(this.views, ...VIEWS.map((name) => this.viewButton(name)));
    replace(this.says, ...(this.other ? [this.differenceSays()] : patternSays(answer, kind, layer, head)));
    this.drawArea();
    this.drawLegend(this.view, this.other);
    this.light();
  }

  viewButton(name) {
    const pressed = String(state.view === name);
    return make('button', { type: 'button', 'aria-pressed': pressed, data: { view: name }, onclick: () => set({ view: name }) }, t(`view_${name}`));
  }

  drawArea() {
    const form = state.view === 'matrix' && this.other ? 'compare' : state.view;
    const width = this.area.clientWidth || 780;
    if (form !== this.form) {
      this.area.style.minHeight = `${this.area.offsetHeight}px`; // the page keeps its height while one form leaves
      this.maps.forEach((map) => map.close?.());
      this.area.className = `maps ${form}`;
      this.maps = { matrix: () => [new Heatmap(this.plotly)], lines: () => [new Lines()], numbers: () => [new Numbers()], compare: () => this.three() }[form]();
      replace(this.area, ...(form === 'compare' ? this.frames : this.maps.map((map) => map.element)));
      if (form === 'lines') this.area.before(this.legend); // its slider stays in sight above the longest sentence
      else this.area.after(this.legend);
      this.form = form;
      requestAnimationFrame(() => (this.area.style.minHeight = ''));
    }
    const name = headName(this.view.layer, this.view.head);
    if (form === 'matrix') this.maps[0].show(this.view, width, name);
    else if (form === 'lines') this.maps[0].show(this.other ? [this.other, this.view] : [this.view], width, name);
    else if (form === 'numbers') this.maps[0].show(this.other ? [this.other, this.view] : [this.view], name);
    else this.drawComparison(width);
  }

  /** A, B and A − B, and where they differ most. */
  three() {
    const stacked = narrow();
    const maps = [new Heatmap(this.plotly), new Heatmap(this.plotly, { rowLabels: stacked }), new Heatmap(this.plotly, { difference: true })];
    this.captions = maps.map(() => [make('h3', {}), make('p', { class: 'sub' })]);
    this.largest = make('div', { class: 'largest' });
    this.frames = maps.map((map, number) => make('div', { class: 'frame' }, ...this.captions[number], map.element));
    this.frames.push(this.largest);
    const together = ({ target: { scrollLeft, scrollTop } }) => maps.forEach(({ element }) => Object.assign(element, { scrollLeft, scrollTop }));
    maps.forEach(({ element }) => element.addEventListener('scroll', together));
    return maps;
  }

  drawComparison(width) {
    const { answer, kind, pinned } = state;
    const difference = { ...this.view, maximum: true, weights: this.other.weights.map((weight, cell) => weight - this.view.weights[cell]) };
    // One size of cells for all three: two planes side by side, with the names of the rows left of the first.
    const labels = labelRoom(this.view);
    const plane = Math.floor((width - labels - BETWEEN) / 2);
    this.area.style.setProperty('--plane', `${narrow() ? width : plane}px`);
    const widths = narrow() ? [width, width, width] : [labels + plane, plane, labels + plane];
    const badge = (letter) => make('i', { class: letter === 'A' ? 'first' : 'second' }, letter);
    const here = [pinned, shown()];
    for (const [number, letter] of ['A', 'B'].entries()) {
      const { layer, head } = here[number];
      replace(this.captions[number][0], badge(letter), headName(layer, head));
      replace(this.captions[number][1], ...patternSays(answer, kind, layer, head));
    }
    replace(this.captions[2][0], 'A − B');
    replace(this.captions[2][1], t('difference_says'));
    for (const [number, shownView] of [this.other, this.view, difference].entries()) {
      this.maps[number].show(shownView, widths[number], this.captions[number][0].textContent);
      this.frames[number].style.cssText = `min-width:${Math.min(260, widths[number])}px;max-width:${widths[number]}px`;
    }
    const wide = this.view.columns.length;
    const rows = top(difference.weights, 6, Math.abs).map((cell) => {
      const [row, column] = [Math.floor(cell / wide), cell % wide];
      const weight = difference.weights[cell];
      const names = `${this.view.rows[row].label} → ${this.view.columns[column].label}`;
      const value = make('span', { class: `numeric ${weight > 0 ? 'first' : 'second'}` }, signed(weight, 3));
      return make('button', { type: 'button', data: { row, column } }, make('bdi', {}, names), value);
    });
    replace(this.largest, make('h3', {}, t('largest_differences')), make('p', { class: 'sub' }, t('largest_says')), make('div', {}, ...rows));
  }

  differenceSays() {
    let [sum, count] = [0, 0];
    for (const [cell, weight] of this.other.weights.entries()) {
      const gap = Math.abs(weight - this.view.weights[cell]);
      if (gap === gap) [sum, count] = [sum + gap, count + 1];
    }
    const name = { matrix: 'compare_says', lines: 'compare_says_lines', numbers: 'compare_says_numbers' }[state.view];
    return t(name, { difference: three(sum / count) });
  }

  /** What the pointer or a pin lights, in strips, labels, read-out and list at once. */
  light() {
    if (!this.view || state.tab !== 'heads') return;
    const { rows, columns } = this.view;
    const row = state.hoverRow ?? state.row;
    const column = row === null ? state.hoverColumn ?? state.column : null;
    const lit = litLevels(this.view, row, column);
    const strength = new Map();
    lit.columns?.forEach((level, place) => strength.set(columns[place].key, [level, columns[place]]));
    lit.rows?.forEach((level, place) => strength.set(rows[place].key, [level, rows[place]]));
    const byToken = new Map();
    for (const [level, item] of strength.values()) for (const key of this.keysOf(item)) byToken.set(key, level);
    const chosen = new Set(row !== null ? this.keysOf(rows[row]) : column !== null ? this.keysOf(columns[column]) : []);
    for (const token of this.strips.elements()) {
      const key = token.dataset.keys.split(' ')[0];
      paint(token, byToken.get(key));
      token.classList.toggle('chosen', chosen.has(key));
    }
    this.scrollStrips();
    this.maps.forEach((map) => map.light());
    this.read(this.view, this.other);
    this.list(this.view);
  }

  /** The tokens that an item stands for: its own, and the others of its word. */
  keysOf(item) {
    const letter = item.key[0];
    if (letter === 'b') return ['b'];
    const first = Number(item.key.slice(1));
    return item.places.map((_, number) => `${letter}${first + number}`);
  }

  scrollStrips() {
    for (const strip of this.strips.strips) {
      if (!strip.classList.contains('long') || strip.matches(':hover')) continue;
      const token = strip.querySelector('.chosen') ?? [...strip.children].find((each) => each.style.backgroundColor);
      if (token) strip.scrollTop = token.offsetTop - 52;
    }
  }

  resized() {
    if (this.width === this.area.clientWidth || !this.view || state.tab !== 'heads') return;
    this.width = this.area.clientWidth;
    if (narrow() !== this.wasNarrow) this.form = null;
    this.wasNarrow = narrow();
    this.drawHead();
  }

  // ---------------------------------------------------------------- doing

  page(step) {
    const { answer, kind } = state;
    set({ ...pageHead(state, step, answer.heads(kind), answer.layers(kind)), preview: null });
  }

  climb(step) {
    set({ layer: climbLayer(state.layer, step, state.answer.layers(state.kind)), preview: null });
  }

  togglePin() {
    set({ pinned: state.pinned ? null : { layer: state.layer, head: state.head } });
  }

  /** Row and column under the pointer, wherever it is. */
  where(event) {
    const map = this.maps.find((each) => each.plane?.contains(event.target));
    if (map) return map.cellAt(event);
    const cell = event.target.closest('[data-row],[data-column]');
    const number = (text) => (text === undefined ? null : Number(text));
    if (cell) return [number(cell.dataset.row), number(cell.dataset.column)];
    const key = event.target.closest('.token')?.dataset.keys.split(' ')[0];
    if (!key) return [null, null];
    const row = this.view.rows.findIndex((item) => this.keysOf(item).includes(key));
    if (row >= 0) return [row, null];
    const column = this.view.columns.findIndex((item) => this.keysOf(item).includes(key));
    return [null, column >= 0 ? column : null];
  }

  listen() {
    this.head.addEventListener('pointermove', (event) => {
      if (event.pointerType === 'touch' || !this.view) return;
      const [hoverRow, hoverColumn] = this.where(event);
      set({ hoverRow, hoverColumn });
    });
    this.head.addEventListener('pointerleave', () => set({ hoverRow: null, hoverColumn: null }));
    this.head.addEventListener('click', (event) => {
      if (!this.view) return;
      const [row, column] = this.where(event);
      if (row === null && column === null) return;
      const again = row === state.row && column === state.column;
      set({ ...LET_GO, row: again ? null : row, column: again ? null : column });
    });
    document.addEventListener('keydown', (event) => this.key(event));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || state.tab !== 'heads' || !this.view) return;
    if (event.key === 'Escape') {
      if (state.row !== null || state.column !== null) set(LET_GO);
      else if (state.pinned) set({ pinned: null });
      return;
    }
    const inWall = this.wall.grid.contains(event.target);
    const inHead = this.head.contains(event.target) && !event.target.matches('.scrolls');
    const arrows = inWall || event.target === document.body || inHead || event.target === this.root;
    const action = this.actions(arrows)[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
    if (inWall) this.wall.focus();
  }

  actions(arrows) {
    const within = (place, count, step) => (place === null ? 0 : Math.max(0, Math.min(count - 1, place + step)));
    const row = (step) => () => set({ row: within(state.row, this.view.rows.length, step) });
    const column = (step) => () => set({ column: within(state.column, this.view.columns.length, step) });
    const moves = arrows
      ? { ArrowRight: () => this.page(1), ArrowLeft: () => this.page(-1), ArrowDown: () => this.climb(1), ArrowUp: () => this.climb(-1) }
      : {};
    return {
      ...moves,
      1: () => chooseKind(KINDS[0]),
      2: () => chooseKind(KINDS[1]),
      3: () => chooseKind(KINDS[2]),
      p: () => this.togglePin(),
      m: () => set({ view: VIEWS[(VIEWS.indexOf(state.view) + 1) % VIEWS.length] }),
      w: () => set({ words: !state.words, ...LET_GO }),
      s: () => set({ special: !state.special, ...LET_GO }),
      j: row(1),
      k: row(-1),
      l: column(1),
      h: column(-1),
    };
  }
}
