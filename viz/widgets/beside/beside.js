// Two models on one sentence. The first is the page's own; the second is asked for here: by default it translates the first
// one's answer back, and its map is turned over onto the same axes. No click on a head asks the server.

import { Translation } from '../core/translation.js';
import { bestHead } from '../core/besthead.js';
import { call } from '../core/boot.js';
import { make, replace } from '../core/dom.js';
import { Latest } from '../core/latest.js';
import { ready } from '../core/page.js';
import { on, page, set, state } from '../core/state.js';
import { LET_GO, createStore } from '../core/store.js';
import { fitHead, two } from '../core/view.js';
import { t } from '../core/words.js';
import { formOf, mountForms } from '../headview/forms.js';
import { listenToKeys } from '../headview/keys.js';
import { climbHead, pageHead } from '../headview/paging.js';
import { TranslationMaps } from '../headview/translationmaps.js';
import { chooseKind, mountKinds } from '../parts/kinds.js';
import { Choices, modeOf, secondRequest } from './choices.js';
import { Likeness } from './likeness.js';
import { itemAt, readsAt, secondText, unitAt } from './pair.js';
import { Partners } from './partners.js';
import { Ranked } from './ranked.js';
import { Side } from './side.js';
import { FORMS, Trio } from './trio.js';
import { turned } from './turned.js';

const CHOICES = ['beside', 'besideBeam', 'besideSame'];
const LOOKS = ['kind', 'scale', 'palette', 'fit', 'theme', 'language', 'view'];
const NOWHERE = { row: null, column: null };

export async function mount({ element, server, props }) {
  await ready;
  new Beside(element, server, JSON.parse(props.config));
}

class Beside {
  constructor(root, server, config) {
    this.root = root;
    this.server = server;
    this.config = config;
    this.told = null; // the second model's translation, and what goes together
    this.hover = NOWHERE;
    this.pinned = NOWHERE; // a word that the first model lacks: any other is the page's
    this.active = 0;
    root.classList.add('explorer');
    on(['tab', 'translation', ...CHOICES], () => this.update());
    on(['busy'], () => root.classList.toggle('busy', state.busy));
    this.update();
  }

  open() {
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
      (letter, number) => new Side(letter, { choose: (head) => this.choose(number, head), preview: preview(number) }),
    );
    for (const [number, side] of this.sides.entries()) {
      for (const name of ['focusin', 'pointerdown']) side.element.addEventListener(name, () => (this.active = number));
    }
    this.latest = new Latest(this.root, this.sides[1].error, 'beside_failed');
    this.choices = new Choices(this.config);
    this.ranked = new Ranked({
      choose: (head) => this.choose(1, head),
      follow: () => set({ besideHead: state.besideHead ? null : this.heads()[1] }),
    });
    this.trio = new Trio({ point: (row, column) => this.point(row, column), pin: (row, column) => this.pin(row, column) });
    const [kinds, forms] = [make('div', {}), make('div', {})];
    this.kinds = kinds;
    this.drawKinds = mountKinds(kinds, page, () => new TranslationMaps(state.translation));
    this.drawForms = mountForms(forms, page, FORMS);
    this.shares = make('span', { class: 'shares', 'aria-live': 'polite' });
    this.reads = [0, 1].map(() => make('span', { class: 'look' }));
    this.line = make('div', { class: 'line' }, this.shares, ...this.reads, forms);
    const tops = make('div', { class: 'tops' }, ...this.sides.map((side) => side.element), this.ranked.element);
    this.alone = make('p', { class: 'quiet alone' });
    this.root.append(this.choices.element, this.choices.note, this.alone, kinds, tops, this.line, this.trio.element);
    on(LOOKS, () => this.open() && this.draw());
    on(['layer', 'head', 'besideHead'], () => this.open() && this.drawHeads());
    on(['row', 'column', 'words', 'special'], () => this.open() && this.light());
    this.store.on(['previews'], () => this.open() && this.drawHeads());
    listenToKeys(() => (this.open() ? this.keys() : null));
  }

  update() {
    if (state.tab !== 'beside' || !state.translation) return;
    if (!this.sides) this.build();
    [this.hover, this.pinned] = [NOWHERE, NOWHERE];
    const asked = this.request();
    const key = JSON.stringify(asked);
    if (key !== this.latest.shown) {
      if (!this.told) this.sides[1].clear(t('beside_waiting', { model: asked.other.model }));
      this.told = null;
      this.sides[1].error.textContent = '';
    }
    this.draw();
    this.latest.show(
      key,
      () => this.ask(asked),
      (told) => this.answered(told, key),
    );
  }

  request() {
    const back = modeOf(this.config, state.translation, this.second) === 'back';
    return { request: state.translation.asked(), other: secondRequest(this.config, state.translation, this.second), back };
  }

  async ask(asked) {
    const { turn } = this.latest;
    try {
      return { ...(await call(this.server.answer_beside, asked)), back: asked.back };
    } catch (error) {
      if (turn === this.latest.turn) {
        this.second = null;
        this.sides[1].clear();
      }
      throw error;
    }
  }

  answered(told, key) {
    this.second = new Translation(told.answer);
    this.config.models = told.models;
    const { own, back } = told;
    const translation = back ? turned(this.second) : this.second;
    this.told = { own: own && new Translation(own), translation, partners: new Partners(told), back };
    // Only a translation tells which language a model of many writes.
    if (JSON.stringify(this.request()) !== key) this.update();
    else this.draw();
  }

  /** The page's translation; where one model searches twice, what it chooses alone. */
  get first() {
    return this.told?.own ?? state.translation;
  }

  /** The way back has the same axes in cross-attention alone. */
  get kind() {
    return modeOf(this.config, state.translation, this.second) === 'back' ? 'cross' : state.kind;
  }

  /** A head of each: the page's, and the chosen one of the second model, or the one most like it. */
  heads() {
    const [first, second] = this.store.state.previews;
    const a = first ?? this.firstHead();
    if (!this.likeness) return [a, a];
    const best = () => this.likeness.ranking(a)[0] ?? a;
    return [a, second ?? fitHead(this.told.translation, this.kind, state.besideHead ?? best())];
  }

  firstHead() {
    const { first: translation } = this;
    const { layer, head, kind, lastHeads } = state;
    const look = kind === this.kind ? { layer, head } : (lastHeads[this.kind] ?? bestHead(translation));
    return fitHead(translation, this.kind, look);
  }

  choose(number, head) {
    this.store.set({ previews: [null, null] });
    if (number) set({ besideHead: head });
    else if (state.kind === this.kind) set(head);
    else set({ kind: this.kind, ...LET_GO, ...head });
  }

  draw() {
    const { kind, told, first: translation } = this;
    const mode = modeOf(this.config, state.translation, this.second);
    const back = mode === 'back';
    this.likeness = told && new Likeness(told.partners, [translation, told.translation], kind, told.back);
    this.choices.draw(state.translation, this.second);
    const alone = mode === 'same' && !state.besideSame && state.translation.model.defaults?.back_weight > 0;
    this.alone.textContent = alone ? t('own_choice') : '';
    this.kinds.hidden = back;
    this.drawKinds();
    this.drawForms();
    this.sides[0].draw(translation, { kind, text: [translation.text.trim() ? translation.text : t('beside_empty')] });
    if (told) this.sides[1].draw(told.translation, { kind, back: told.back, text: secondText(translation, told) });
    this.drawHeads();
  }

  drawHeads() {
    const heads = this.heads();
    this.sides[0].mark(this.firstHead());
    this.ranked.element.classList.toggle('vacant', !this.likeness);
    for (const element of [this.line, this.trio.element]) element.hidden = !this.likeness;
    if (!this.likeness) return;
    const { previews } = this.store.state;
    this.sides[1].mark(previews[1] ? fitHead(this.told.translation, this.kind, state.besideHead ?? heads[1]) : heads[1]);
    const ranking = this.likeness.ranking(heads[0]);
    this.ranked.draw(ranking, heads, !state.besideHead);
    this.trio.show({ likeness: this.likeness, heads, kind: this.kind, back: this.told.back });
    this.drawShare(heads);
    this.light();
  }

  drawShare(heads) {
    const { likeness, kind, told } = this;
    const shared = likeness.shared(...heads);
    const maximum = heads.some(({ head }) => head === 'max');
    this.shares.textContent = shared
      ? t('beside_share_of', { share: two(shared.share) })
      : t(maximum ? 'beside_maximum' : 'beside_no_rows');
    const counted = shared ? t('beside_measure', { rows: shared.rows, all: likeness.units.rows.length }) : '';
    const matched = t(told.partners.same(kind, told.back ? 'columns' : 'rows') ? 'beside_by_characters' : 'beside_by_words');
    this.shares.title = [counted, told.back ? t('beside_rescaled') : '', matched].filter(Boolean).join(' ');
  }

  /** The page's own pin, in common words, or the one of a word that the first model lacks. */
  held() {
    if (!this.likeness) return NOWHERE;
    const { translation, kind } = state;
    if (kind !== this.kind || this.first !== translation) return this.pinned;
    const place = (axis, at) => unitAt(this.likeness.units, axis, translation, kind, state, at);
    const own = { row: place('rows', state.row), column: place('columns', state.column) };
    return own.row === null && own.column === null ? this.pinned : own;
  }

  point(row, column) {
    if (row === this.hover.row && column === this.hover.column) return;
    this.hover = { row, column };
    this.light();
  }

  pin(row, column) {
    const held = this.held();
    const again = held.row === row && held.column === column;
    this.letGo();
    if (again) return;
    const { translation, kind } = state;
    const at = (axis, unit) => itemAt(this.likeness.units, axis, translation, kind, state, unit);
    const own = { row: at('rows', row), column: at('columns', column) };
    const lost = (row !== null && own.row === null) || (column !== null && own.column === null);
    if (lost || kind !== this.kind || this.first !== translation) this.pinned = { row, column };
    else set({ ...LET_GO, ...own });
    this.light();
  }

  letGo() {
    this.pinned = NOWHERE;
    set(LET_GO);
    this.light();
  }

  light() {
    if (!this.likeness) return;
    const held = this.held();
    const listed = ({ row, column }) => ({ rows: row === null ? null : [row], columns: column === null ? null : [column] });
    this.trio.light({ hover: listed(this.hover), pinned: listed(held), missing: '' });
    const now = { row: this.hover.row ?? held.row, column: this.hover.column ?? held.column };
    if (this.hover.row !== null || this.hover.column !== null) Object.assign(now, this.hover);
    const heads = this.heads();
    for (const [side, look] of this.reads.entries()) {
      replace(look, ...readsAt(side, this.likeness.units, this.likeness.map(side, heads[side]), now));
    }
  }

  // ---------------------------------------------------------------- keys

  /** What the keys of a view of heads (headview/keys.js) act on: the side in use. */
  keys() {
    const side = this.sides[this.active];
    const wall = side.maps?.wall(this.kind);
    const go = (step) => wall && this.choose(this.active, step(wall, side.head));
    return {
      view: this.likeness,
      root: this.root,
      element: this.trio.element,
      head: this.trio.element,
      grid: side.grid,
      store: page,
      source: { translation: state.translation, kinds: this.kinds.hidden ? [] : side.maps?.kinds, merges: false },
      parts: new Set(),
      forms: FORMS,
      page: (step) => go((rows, head) => pageHead(rows, head, step)),
      climb: (step) => go((rows, head) => climbHead(rows, head, step)),
      chooseKind: (kind) => chooseKind(page, state.translation, kind),
      nextForm: () => set({ view: FORMS[(FORMS.indexOf(formOf(FORMS, state)) + 1) % FORMS.length] }),
      walk: (axis, step) => this.walk(axis, step),
      letGo: () => this.letGo(),
    };
  }

  /** The pin one row or column on. */
  walk(axis, step) {
    const held = this.held();
    const count = this.likeness.units[`${axis}s`].length;
    const place = held[axis] === null ? 0 : Math.max(0, Math.min(count - 1, held[axis] + step));
    if (place !== held[axis]) this.pin(...Object.values({ row: held.row, column: held.column, [axis]: place }));
  }
}
