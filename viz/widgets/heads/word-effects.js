// "Which heads wrote this word?": the heads with the largest effect on the word's log probability or on its lead over a
// rival, predicted by one backward pass and measured by a run without each head. While the question is open, the wall
// shows every head's effect, and the displayed head is measured, too.

import { callWithRetry } from '../core/boot.js';
import { make, fillElements, replace } from '../core/dom.js';
import { formatEffect, formatSigned } from '../core/map-view.js';
import { set, state } from '../core/state.js';
import { sameHead } from '../core/store.js';
import { otherTokens } from '../core/translation.js';
import { chooseWord, getChosenRival, wordLabel } from '../core/written-word.js';
import { effectLevel } from '../core/effect-scale.js';
import { cssColour, scaleColour } from '../core/theme.js';
import { t } from '../core/i18n.js';
import { shortName } from '../parts/head-names.js';
import { RivalChoice } from '../parts/rival-choice.js';
import { Question } from './question.js';
import { colourTile, resetTile } from './measure-wall.js';
import { findMarkedCell } from './marked-cell.js';

const MIN_SURE_PROBABILITY = 0.9; // from this probability on, only the word's lead over a rival shows a head's effect

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
    /** @type {number | null} */
    this.rival = null; // token ID
    /** @type {Map<string, number>} */
    this.measured = new Map(); // measured effects of heads that are not among the strongest
    this.rivals = new RivalChoice(server);
    this.list = make('div', { class: 'bars' });
    this.shownBar = make('div', { class: 'bars' }); // the shown head
    for (const bars of [this.list, this.shownBar])
      bars.addEventListener('click', (event) => {
        const { kind, layer, head } = event.target.closest('button')?.dataset ?? {};
        const word = kind === state.kind ? {} : chooseWord(state.translation, state, kind, this.query.place);
        if (kind) set({ kind, ...word, layer: Number(layer), head: Number(head) });
      });
    this.description = make('p', { class: 'quiet' });
    const close = () => {
      this.element.open = false;
    };
    this.back = make('button', { type: 'button', class: 'link', onclick: close });
    this.body.append(this.rivals.element, this.description, this.list, this.shownBar, this.back);
  }

  draw() {
    const { view: visible } = this.view;
    const { translation } = state;
    const position = visible ? getMarkedWord(visible) : null;
    this.element.hidden = position === null;
    if (position === null) return;
    const name = make('bdi', { lang: translation.model.target || null }, wordLabel(translation, state, position));
    replace(this.title, ...fillElements(t('effects_title'), { word: make('b', {}, name) }));
    const request = translation.requestValues();
    this.rival = (getChosenRival(state, position) ?? getDefaultRival(translation.target[position])).id;
    this.query = { request, place: position, rival: this.rival };
    const { query } = this;
    const key = JSON.stringify(query);
    if (key !== this.latest.loadedKey) {
      this.heads = null;
      this.measured.clear();
    }
    this.drawRivals();
    this.load(
      key,
      (signal) => callWithRetry(this.server.strongest_effects, query, null, null, signal),
      (answer) => this.show(answer),
      t('effects_waits'),
    );
    this.mark();
  }

  drawRivals() {
    const { place, rival } = this.query;
    const label = this.rivalLabel?.id === rival ? this.rivalLabel.label : '';
    const options = { rival: rival === null ? null : { id: rival, label }, name: t('effects_against'), none: true };
    this.rivals.draw(state.translation, place, options);
  }

  show({ heads, strongest, rival }) {
    this.rivalLabel = rival;
    this.drawRivals();
    this.heads = heads;
    this.strongest = strongest;
    const maxEffect = Math.max(...strongest.flatMap(({ predicted, measured }) => [predicted, measured].map(Math.abs)), 1e-9);
    const names = [t('effects_head'), '', t('effects_predicted'), t('effects_measured')];
    replace(
      this.list,
      make('div', { class: 'names' }, ...names.map((name) => make('span', {}, name))),
      ...strongest.map((head) => this.bar(head, maxEffect)),
    );
    this.description.textContent = t(this.rival === null ? 'effects_says' : 'effects_says_lead');
    this.back.textContent = t('link_heads_back');
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

  /** Measures the shown head and draws its bar, unless it is among the strongest. */
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

/** Position of the first token of the word in the marked cell's row; in the encoder, of the chosen word. Null: none. */
function getMarkedWord(visible) {
  if (state.kind === 'encoder') return state.word;
  const cell = findMarkedCell(visible, state);
  return cell && visible.rows[cell.row].places[0];
}

/** The default rival, `{ id }`: the most probable other token if the model is sure of the word or maps show leads, else null. */
function getDefaultRival(token) {
  const hasRival = state.lead || token.probability >= MIN_SURE_PROBABILITY;
  return { id: hasRival ? (otherTokens(token)[0]?.[1] ?? null) : null };
}
