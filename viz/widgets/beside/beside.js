// Two models side by side on one sentence. The first is the page's own; the second is asked for here. No click on a head
// asks the server.

import { Translation } from '../core/translation.js';
import { call } from '../core/boot.js';
import { make, toggle, touch } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, page, set, state } from '../core/state.js';
import { LET_GO } from '../core/store.js';
import { fitHead } from '../core/view.js';
import { faultSays, t } from '../core/words.js';
import { formOf, mountForms } from '../headview/forms.js';
import { listenToKeys } from '../headview/keys.js';
import { NOTHING } from '../headview/marks.js';
import { mountKinds } from '../parts/kinds.js';
import { scaleKey } from '../parts/legend.js';
import { Alike } from './alike.js';
import { Likeness } from './likeness.js';
import { across } from './looks.js';
import { Partners } from './partners.js';
import { SecondModel, secondRequest } from './secondmodel.js';
import { Side } from './side.js';

// Two circles that share a part.
const SHARED = [{ d: 'M1.2 7.5a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0M5.4 7.5a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0' }];
const CHOICES = ['beside', 'besideBeam', 'besideSame'];
const LOOKS = ['kind', 'words', 'special', 'rescale', 'scale', 'palette', 'fit', 'theme', 'language', 'view'];
// Nothing is meant: on a side, on the other, and in the difference.
const NOWHERE = Object.assign([NOTHING, NOTHING, NOTHING], { missing: ['', ''] });
const FORMS = ['matrix', 'numbers'];

export async function mount({ element, server, props }) {
  await ready;
  new Beside(element, server, JSON.parse(props.config));
}

class Beside {
  constructor(root, server, config) {
    this.root = root;
    this.server = server;
    this.config = config;
    this.turn = 0;
    this.shown = '';
    this.hover = null;
    this.pinned = null;
    this.active = 0;
    root.classList.add('explorer');
    on(['tab', 'translation', ...CHOICES], () => this.update());
    on(['busy'], () => root.classList.toggle('busy', state.busy));
    this.update();
  }

  open() {
    return state.tab === 'beside' && this.built && Boolean(state.translation);
  }

  build() {
    const open = () => this.open();
    const answers = [() => state.translation, () => this.second];
    this.sides = ['A', 'B'].map((letter, number) => new Side(letter, { does: this.does(number), open, answerOf: answers[number] }));
    for (const [number, side] of this.sides.entries()) {
      for (const name of ['focusin', 'pointerdown']) side.element.addEventListener(name, () => (this.active = number));
      side.store.on(['layer', 'head', 'preview'], () => this.open() && this.drawAlike());
    }
    this.menus = new SecondModel(this.config, this.sides);
    const [follow, followName] = toggle(SHARED, () => this.toggleFollow());
    this.follow = follow;
    this.followName = followName;
    this.sides[1].heads.end.before(this.follow);
    this.alike = new Alike({
      choose: (head) => set({ besideHead: head }),
      point: (...at) => this.point(2, ...at),
      pin: (...at) => this.pin(2, ...at),
    });
    const [kinds, views] = [make('div', {}), make('div', {})];
    this.drawKinds = mountKinds(kinds, page, () => this.sides[0].source());
    this.drawForms = mountForms(views, page, FORMS);
    this.hint = make('p', { class: 'quiet hint' });
    this.whole = make('input', { type: 'checkbox', onchange: () => set({ words: this.whole.checked, ...LET_GO }) });
    this.wholeName = make('span', {});
    const bar = make('div', { class: 'bar' }, this.hint, make('label', { class: 'check' }, this.whole, this.wholeName), views);
    this.legend = make('div', { class: 'legend' });
    this.root.append(
      kinds,
      bar,
      make('div', { class: 'sides' }, ...this.sides.map((side) => side.element)),
      this.legend,
      this.alike.element,
    );
    this.built = true;
    // After the sides' own listeners: what follows reads what they show.
    on(LOOKS, (changed) => {
      if (changed.some((name) => ['kind', 'words', 'special'].includes(name))) [this.hover, this.pinned] = [null, null];
      if (this.open()) this.draw();
    });
    on(['layer', 'head', 'besideHead'], () => this.open() && this.drawHeads());
    on(['row', 'column'], () => this.light());
    listenToKeys(() => (this.open() ? this.sides[this.active].heads : null));
  }

  /** What a pointer, a click or a key on a side means for both. */
  does(number) {
    const own = { row: null, column: null };
    return {
      choose: (head) => this.choose(number, head),
      point: (row, column) => this.point(number, row, column),
      pin: (row, column) => this.pin(number, row, column),
      held: () => (this.held()?.from === number ? this.held() : own),
      letGo: () => this.letGo(),
    };
  }

  // ---------------------------------------------------------------- asking

  async update() {
    if (state.tab !== 'beside' || !state.translation) return;
    if (!this.built) this.build();
    [this.hover, this.pinned] = [null, null];
    const asked = this.request();
    const key = JSON.stringify(asked);
    if (key === this.shown) return this.drawAnew();
    this.shown = key;
    const turn = ++this.turn;
    this.partners = null;
    this.sides[1].error.textContent = '';
    this.root.classList.add('waits');
    if (!this.second) this.sides[1].clear(t('beside_waiting', { model: asked.other.model }));
    this.drawAnew();
    try {
      const told = await call(this.server.answer_beside, asked);
      if (turn !== this.turn) return undefined;
      this.second = new Translation(told.answer);
      this.config.models = told.models;
      this.partners = new Partners(told);
    } catch (error) {
      if (turn !== this.turn) return undefined;
      this.shown = '';
      this.second = null;
      this.sides[1].error.textContent = faultSays(error, 'beside_failed');
      this.sides[1].clear();
      if (!error.fault) console.warn(error);
    }
    this.root.classList.remove('waits');
    this.drawAnew();
    // Only a translation tells which language a model of many writes.
    return this.second && JSON.stringify(this.request()) !== key ? this.update() : undefined;
  }

  request() {
    return { request: state.translation.asked(), other: secondRequest(this.config, state.translation, this.second) };
  }

  // ---------------------------------------------------------------- drawing

  /** Another translation: the heads of both, too. */
  drawAnew() {
    this.likeness = this.partners && new Likeness(this.partners, [state.translation, this.second], state.kind);
    if (this.second) this.sides[1].store.set(this.head());
    for (const side of this.sides) if (side.translation) side.heads.draw();
    this.draw();
  }

  /** Another way of showing: the heads drew themselves before. */
  draw() {
    const { translation, kind } = state;
    this.likeness = this.partners && new Likeness(this.partners, [translation, this.second], kind);
    for (const side of this.sides) if (side.translation) side.draw();
    this.drawKinds();
    this.drawForms();
    this.menus.draw(translation, this.second);
    this.hint.textContent = t(touch() ? 'beside_hint_tap' : 'beside_hint');
    this.whole.checked = state.words;
    this.wholeName.textContent = t('tool_words');
    this.legend.replaceChildren(...(formOf(FORMS, state) === 'matrix' ? scaleKey(this.sides[0].heads.view, state) : []));
    this.drawHeads();
  }

  /** The head of the first model is the page's; the second model's may follow it. */
  drawHeads() {
    if (this.second) this.sides[1].store.set(this.head());
    this.follow.setAttribute('aria-pressed', String(!state.besideHead));
    this.followName.textContent = t('beside_follow');
    this.follow.title = t('beside_follow_says');
    this.drawAlike();
  }

  drawAlike() {
    this.alike.element.hidden = !this.second;
    if (this.likeness && this.sides[1].head)
      this.alike.show(
        this.likeness,
        this.partners,
        this.sides.map((side) => side.head),
      );
    this.light();
  }

  // ---------------------------------------------------------------- which head

  /** The chosen head of the second model: the one most similar to the first's, until another is chosen. */
  head() {
    const { layer, head, kind } = state;
    return fitHead(this.second, kind, state.besideHead ?? this.likeness?.ranking({ layer, head })[0] ?? { layer, head });
  }

  choose(number, head) {
    this.sides[number].store.set({ preview: null });
    set(number === 0 ? head : { besideHead: head });
  }

  toggleFollow() {
    set({ besideHead: state.besideHead ? null : this.head() });
  }

  // ---------------------------------------------------------------- what is lit

  point(from, row, column) {
    const next = row === null && column === null ? null : { from, row, column };
    if (JSON.stringify(next) === JSON.stringify(this.hover)) return;
    this.hover = next;
    this.light();
  }

  /** A pin on the page's own translation is the page's; one elsewhere lets go of that. */
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
    for (const [number, side] of this.sides.entries()) {
      side.heads.light({ hover: hover[number], pinned: pinned[number], missing: now.missing[number] });
    }
    this.alike.light({ hover: hover[2], pinned: pinned[2], missing: '' });
  }

  /** What a look means on both sides and in the difference. */
  marksOf(look) {
    if (!look) return NOWHERE;
    return across(look, { sides: this.sides, partners: this.partners, likeness: this.likeness, kind: state.kind });
  }

  letGo() {
    this.pinned = null;
    set(LET_GO);
    this.light();
  }
}
