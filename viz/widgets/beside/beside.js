// Two models side by side on one sentence. The first is the page's own; the second is asked for here. No click on a head
// asks the server.

import { Answer } from '../core/answer.js';
import { call, loadPlotly } from '../core/boot.js';
import { icon, make, replace, touch } from '../core/dom.js';
import { ready } from '../core/page.js';
import { LET_GO, on, same, set, state } from '../core/state.js';
import { faultSays, t } from '../core/words.js';
import { climbLayer, pageHead } from '../parts/headgrid.js';
import { mountKinds } from '../parts/kinds.js';
import { scaleKey } from '../parts/legend.js';
import { Alike } from './alike.js';
import { listenToKeys } from './besidekeys.js';
import { Likeness } from './likeness.js';
import { across } from './looks.js';
import { Partners } from './partners.js';
import { SecondModel, secondRequest } from './secondmodel.js';
import { Side } from './side.js';
import { NOTHING } from './twinmap.js';

// Two circles that share a part.
const SHARED = [{ d: 'M1.2 7.5a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0M5.4 7.5a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0' }];
const CHOICES = ['beside', 'besideBeam', 'besideSame'];
const LOOKS = ['kind', 'words', 'special', 'rescale', 'scale', 'palette', 'fit', 'theme', 'language', 'view'];

export async function mount({ element, server, props }) {
  await ready;
  new Beside(element, server, JSON.parse(props.config));
}

class Beside {
  constructor(root, server, config) {
    Object.assign(this, { root, server, config, turn: 0, shown: '', hover: null, pinned: null, active: 0 });
    root.classList.add('explorer');
    on(['tab', 'answer', ...CHOICES], () => this.update());
    on(LOOKS, (changed) => {
      if (changed.some((name) => ['kind', 'words', 'special'].includes(name))) [this.hover, this.pinned] = [null, null];
      if (this.open()) this.draw();
    });
    on(['layer', 'head', 'besideHead'], () => this.open() && this.drawHeads());
    on(['row', 'column'], () => this.light());
    on(['busy'], () => root.classList.toggle('busy', state.busy));
    listenToKeys(this);
    this.update();
  }

  open() {
    return state.tab === 'beside' && this.built && state.answer;
  }

  build(plotly) {
    const does = (number) => ({
      choose: (head) => this.choose(number, head),
      page: (step) => this.page(number, step),
      point: (row, column) => this.point(number, row, column),
      pin: (row, column) => this.pin(number, row, column),
    });
    this.sides = ['A', 'B'].map((letter, number) => new Side(letter, plotly, does(number)));
    for (const [number, side] of this.sides.entries()) {
      for (const name of ['focusin', 'pointerdown']) side.element.addEventListener(name, () => (this.active = number));
      side.onPreview = () => this.drawAlike();
    }
    this.menus = new SecondModel(this.config, this.sides);
    this.followName = make('span', {});
    this.follow = make(
      'button',
      { type: 'button', class: 'pin', onclick: () => this.toggleFollow() },
      icon(15, SHARED, { width: 1.4 }),
      this.followName,
    );
    this.sides[1].topline.append(this.follow);
    this.alike = new Alike(plotly, {
      choose: (head) => this.choose(1, head),
      point: (...at) => this.point(2, ...at),
      pin: (...at) => this.pin(2, ...at),
    });
    const kinds = make('div', {});
    this.drawKinds = mountKinds(kinds);
    this.hint = make('p', { class: 'quiet hint' });
    this.views = make('div', { class: 'segments', role: 'group' });
    this.whole = make('input', { type: 'checkbox', onchange: () => set({ words: this.whole.checked, ...LET_GO }) });
    this.wholeName = make('span', {});
    const bar = make('div', { class: 'bar' }, this.hint, make('label', { class: 'check' }, this.whole, this.wholeName), this.views);
    this.legend = make('div', { class: 'legend' });
    this.root.append(
      kinds,
      bar,
      make('div', { class: 'sides' }, ...this.sides.map((side) => side.element)),
      this.legend,
      this.alike.element,
    );
    this.built = true;
  }

  // ---------------------------------------------------------------- asking

  async update() {
    if (state.tab !== 'beside' || !state.answer) return;
    const plotly = await loadPlotly();
    if (!this.built) this.build(plotly);
    [this.hover, this.pinned] = [null, null];
    const asked = this.request();
    const key = JSON.stringify(asked);
    if (key === this.shown) return this.draw();
    this.shown = key;
    const turn = ++this.turn;
    this.partners = null;
    this.sides[1].error.textContent = '';
    this.root.classList.add('waits');
    if (!this.second) this.sides[1].clear(t('beside_waiting', { model: asked.other.model }));
    this.draw();
    try {
      const told = await call(this.server.answer_beside, asked);
      if (turn !== this.turn) return undefined;
      this.second = new Answer(told.answer);
      this.config.models = told.models;
      this.partners = new Partners(told);
      this.sides[1].element.classList.remove('vacant');
    } catch (error) {
      if (turn !== this.turn) return undefined;
      this.shown = '';
      this.second = null;
      this.sides[1].error.textContent = faultSays(error, 'beside_failed');
      this.sides[1].clear();
      if (!error.fault) console.warn(error);
    }
    this.root.classList.remove('waits');
    this.draw();
    // An answer may tell what nobody knew: which language its model writes.
    return this.second && JSON.stringify(this.request()) !== key ? this.update() : undefined;
  }

  request() {
    return { request: state.answer.asked(), other: secondRequest(this.config, state.answer, this.second) };
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    const { answer, kind } = state;
    this.drawKinds();
    this.menus.draw(answer, this.second);
    this.hint.textContent = t(touch() ? 'beside_hint_tap' : 'beside_hint');
    this.whole.checked = state.words;
    this.wholeName.textContent = t('tool_words');
    this.views.setAttribute('aria-label', t('beside_views'));
    const shown = state.view === 'numbers' ? 'numbers' : 'matrix';
    const button = (name) =>
      make('button', { type: 'button', 'aria-pressed': String(name === shown), onclick: () => set({ view: name }) }, t(`view_${name}`));
    replace(this.views, button('matrix'), button('numbers'));
    this.likeness = this.partners && new Likeness(this.partners, [answer, this.second], kind);
    this.sides[0].show(answer, kind);
    if (this.second) this.sides[1].show(this.second, kind);
    this.drawHeads(true);
    replace(this.legend, ...(shown === 'matrix' ? scaleKey(this.sides[0].view) : []));
  }

  /** Heads that are not shown yet; `anew`: also those that are. */
  drawHeads(anew = false) {
    for (const [number, side] of this.sides.entries()) {
      if (number === 1 && !this.second) continue;
      const chosen = this.head(number);
      if (anew || !same(chosen, side.chosen)) side.turn({ chosen });
      side.focus();
    }
    this.follow.setAttribute('aria-pressed', String(!state.besideHead));
    this.followName.textContent = t('beside_follow');
    this.follow.title = t('beside_follow_says');
    this.drawAlike();
  }

  drawAlike() {
    this.alike.element.hidden = !this.second;
    const heads = this.sides.map((side) => side.preview ?? side.chosen);
    if (this.likeness) this.alike.show(this.likeness, this.partners, heads);
    this.light();
  }

  // ---------------------------------------------------------------- which head

  /** The chosen head of a side. The second model's is the one most like the first's, until somebody chooses another. */
  head(number) {
    const { layer, head } = state;
    if (number === 0) return { layer, head };
    const within = (place, count) => (typeof place === 'number' ? Math.min(place, count - 1) : place);
    const wanted = state.besideHead ?? this.likeness?.ranking({ layer, head })[0] ?? { layer, head };
    return { layer: within(wanted.layer, this.second.layers(state.kind)), head: within(wanted.head, this.second.heads(state.kind)) };
  }

  choose(number, { layer, head }) {
    if (this.sides[number].preview) this.sides[number].turn({ preview: null });
    set(number === 0 ? { layer, head, preview: null } : { besideHead: { layer, head } });
  }

  page(number, step) {
    const answer = [state.answer, this.second][number];
    if (answer) this.choose(number, pageHead(this.head(number), step, answer.heads(state.kind), answer.layers(state.kind)));
  }

  climb(number, step) {
    const answer = [state.answer, this.second][number];
    if (!answer) return;
    const { layer, head } = this.head(number);
    this.choose(number, { layer: climbLayer(layer, step, answer.layers(state.kind)), head });
  }

  toggleFollow() {
    set({ besideHead: state.besideHead ? null : this.head(1) });
  }

  // ---------------------------------------------------------------- what is lit

  point(from, row, column) {
    const next = row === null && column === null ? null : { from, row, column };
    if (JSON.stringify(next) === JSON.stringify(this.hover)) return;
    this.hover = next;
    this.light();
  }

  /** A pin on the page's own answer is the page's; one elsewhere lets go of that. */
  pin(from, row, column) {
    const held = this.held();
    const again = held && held.from === from && held.row === row && held.column === column;
    this.pinned = again || from === 0 ? null : { from, row, column };
    set(again || from !== 0 ? LET_GO : { ...LET_GO, row, column });
    this.light();
  }

  held() {
    const { row, column } = state;
    return row !== null || column !== null ? { from: 0, row, column } : this.pinned;
  }

  light() {
    if (!this.open()) return;
    if (state.row !== null || state.column !== null) this.pinned = null;
    const marks = [this.hover, this.held()].map((look) => this.marksOf(look));
    const [hover, pinned] = marks;
    const now = this.hover ? hover : pinned;
    for (const [number, side] of this.sides.entries()) side.light(hover[number], pinned[number], now.missing?.[number]);
    this.alike.light(hover[2], pinned[2]);
  }

  /** What a look means on both sides and in the difference. */
  marksOf(look) {
    if (!look) return [NOTHING, NOTHING, NOTHING];
    return across(look, { sides: this.sides, partners: this.partners, likeness: this.likeness, kind: state.kind });
  }

  letGo() {
    this.pinned = null;
    set(LET_GO);
    this.light();
  }
}
