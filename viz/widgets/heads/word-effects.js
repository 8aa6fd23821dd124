// "Which heads wrote this word?": the heads with the largest effect on it, predicted by one backward pass and measured
// by a run without each head. While the question is open, the wall shows every head's effect, and the shown head is measured,
// too. The effect is on the word's log probability or on its lead over a rival.

import { callWithRetry } from '../core/boot.js';
import { make, fillElements, replace } from '../core/dom.js';
import { formatEffect, formatSigned } from '../core/map-view.js';
import { set, state } from '../core/state.js';
import { sameHead } from '../core/store.js';
import { otherTokens } from '../core/translation.js';
import { effectLevel } from '../core/effect-scale.js';
import { cssColour, scaleColour } from '../core/theme.js';
import { t } from '../core/i18n.js';
import { shortName } from '../parts/head-names.js';
import { Question } from './question.js';
import { colourTile, resetTile } from './measure-wall.js';
import { markedCell } from './marked-cell.js';

const SURE_FROM = 0.9; // probability from which only the lead over a rival shows what a head does
const MAX_RIVALS = 3; // tokens in the menu of rivals

export class WordEffects extends Question {
  /**
   * @param {import('../core/server.js').Server} server
   * @param {any} view
   * @param {() => void} redraw restores the wall
   */
  constructor(server, view, redraw) {
    super('word-effects', redraw);
    /** @type {Record<string, number[][]> | null} */
    this.heads = null; // the effects of all heads by kind
    this.server = server;
    this.view = view;
    this.word = ''; // key of the translation and the word
    /** @type {number | null} */
    this.rival = null; // token ID
    /** @type {Map<string, number>} */
    this.measured = new Map(); // measured effects of heads that are not among the strongest
    this.rivals = make('div', { class: 'rivals', role: 'group' });
    this.list = make('div', { class: 'bars' });
    this.shownBar = make('div', { class: 'bars' }); // the shown head
    for (const bars of [this.list, this.shownBar])
      bars.addEventListener('click', (event) => {
        const { kind, layer, head } = event.target.closest('button')?.dataset ?? {};
        if (kind) set({ ...(kind === state.kind ? {} : { kind, row: null, column: null }), layer: Number(layer), head: Number(head) });
      });
  }

  draw() {
    const { view: visible, source } = this.view;
    const { translation, kind } = state;
    const cell = visible && kind !== 'encoder' ? markedCell(visible, state) : null;
    this.element.hidden = !cell;
    if (!cell) return;
    const [position] = visible.rows[cell.row].places; // for a whole word, its first token
    replace(this.title, ...fillElements(t('effects_title'), { word: make('b', {}, source.name(visible, 'rows', [cell.row])) }));
    const request = translation.requestValues();
    const word = JSON.stringify([request, position]);
    if (word !== this.word) [this.word, this.rival] = [word, defaultRival(translation.target[position])];
    this.query = { request, place: position, rival: this.rival };
    const { query } = this;
    const key = JSON.stringify(query);
    if (key !== this.latest.shownKey) {
      this.heads = null;
      this.measured.clear();
    }
    this.drawRivals(translation.target[position]);
    this.load(
      key,
      (signal) => callWithRetry(this.server.strongest_effects, query, null, null, signal),
      (answer) => this.show(answer),
      t('effects_waits'),
    );
    this.mark();
  }

  /** Buttons for the rival: none, or one of the likeliest other tokens. */
  drawRivals(token) {
    const button = (id, name) => {
      const onclick = () => {
        this.rival = id;
        this.draw();
      };
      return make('button', { type: 'button', 'aria-pressed': String(id === this.rival), onclick }, name);
    };
    const others = otherTokens(token)
      .slice(0, MAX_RIVALS)
      .map(([label, id]) => button(id, make('bdi', {}, label)));
    this.rivals.hidden = !others.length;
    this.rivals.setAttribute('aria-label', t('account_rivals'));
    replace(this.rivals, make('span', { class: 'quiet' }, t('effects_against')), button(null, t('effects_no_rival')), ...others);
  }

  show({ heads, strongest }) {
    this.heads = heads;
    this.strongest = strongest;
    const maxEffect = Math.max(...strongest.flatMap(({ predicted, measured }) => [predicted, measured].map(Math.abs)), 1e-9);
    const names = [t('effects_head'), '', t('effects_predicted'), t('effects_measured')];
    replace(
      this.list,
      make('div', { class: 'names' }, ...names.map((name) => make('span', {}, name))),
      ...strongest.map((head) => this.bar(head, maxEffect)),
    );
    const close = () => {
      this.element.open = false;
    };
    const back = make('button', { type: 'button', class: 'link', onclick: close }, t('link_heads_back'));
    const description = make('p', { class: 'quiet' }, t(this.rival === null ? 'effects_says' : 'effects_says_lead'));
    replace(this.body, this.rivals, description, this.list, this.shownBar, back);
    this.mark();
  }

  bar({ kind, layer, head, predicted, measured }, maxEffect) {
    const fill = make('i', {
      style: `width:${((100 * Math.abs(measured || 0)) / maxEffect).toFixed(1)}%`,
    });
    const name = kind === 'cross' ? shortName({ layer, head }) : `${t(`kind_${kind}_short`)} ${shortName({ layer, head })}`;
    const number = (value) => make('span', { class: 'numeric' }, Number.isNaN(value) ? '…' : formatEffect(value));
    const numbers = [predicted, measured].map(number);
    return make(
      'button',
      { type: 'button', data: { kind, layer, head, sign: Math.sign(measured) } },
      make('span', {}, name),
      make('span', { class: 'track' }, fill),
      ...numbers,
    );
  }

  /** Measures the shown head, unless it is among the strongest. */
  async measureShown() {
    const { kind, layer, head } = this.view.updateSelection();
    const part = { kind: kind ?? state.kind, layer, head };
    const predicted = this.heads?.[state.kind]?.[layer]?.[head];
    const isListed = this.strongest?.some((entry) => entry.kind === state.kind && sameHead(entry, part));
    if (!this.element.open || predicted === undefined || isListed) return replace(this.shownBar);
    const [key, { query }] = [`${state.kind} ${layer} ${head}`, this];
    if (!this.measured.has(key)) {
      this.measured.set(key, NaN);
      try {
        const answer = await callWithRetry(
          this.server.measured_effect,
          { ...query, kind: state.kind, layer, head },
          () => query === this.query,
        );
        if (query !== this.query || !answer) return undefined;
        this.measured.set(key, answer.measured);
      } catch {
        this.measured.delete(key);
        return undefined;
      }
      return this.mark();
    }
    const measured = this.measured.get(key) ?? NaN;
    const maxEffect = Math.max(...(this.strongest ?? []).map((item) => Math.abs(item.measured)), Math.abs(measured) || 0, 1e-9);
    return replace(this.shownBar, this.bar({ kind: state.kind, layer, head, predicted, measured }, maxEffect));
  }

  /** Marks the shown head, and colours bars and wall. */
  mark() {
    if (this.element.open && this.heads) this.colourWall(this.heads[state.kind]);
    this.measureShown();
    for (const button of this.element.querySelectorAll('.bars button')) {
      const { sign } = button.dataset;
      button.querySelector('i').style.background = cssColour(scaleColour('difference', effectLevel(Number(sign)))); // the theme may have changed
      const buttonHead = { layer: Number(button.dataset.layer), head: Number(button.dataset.head) };
      button.setAttribute('aria-pressed', String(button.dataset.kind === state.kind && sameHead(buttonHead, this.view.updateSelection())));
    }
  }

  colourWall(effects) {
    const { grid } = this.view;
    grid.element.classList.add('coloured');
    for (const button of grid.buttons()) {
      const effect = effects[Number(button.dataset.layer)]?.[Number(button.dataset.head)];
      if (effect === undefined) resetTile(button);
      else colourTile(button, formatSigned(100 * effect, 0), effectLevel(effect), 'difference');
    }
  }
}

/** The rival that is chosen at first: the likeliest other token if the model is sure of the word. */
const defaultRival = (token) => (token.probability >= SURE_FROM ? (otherTokens(token)[0]?.[1] ?? null) : null);
