// "Which heads wrote this word?": the heads with the largest effect on it, predicted by one backward pass and measured
// by a run without each head. While the question is open, the wall shows every head's effect.

import { callLatest } from '../core/boot.js';
import { make, fillElements, replace } from '../core/dom.js';
import { formatEffect, formatSigned } from '../core/map-view.js';
import { set, state } from '../core/state.js';
import { sameHead } from '../core/store.js';
import { effectLevel } from '../core/effect-scale.js';
import { cssColour, scaleColour } from '../core/theme.js';
import { t } from '../core/i18n.js';
import { shortName } from '../parts/head-names.js';
import { Question } from './question.js';
import { colourTile, resetTile } from './measure-wall.js';
import { markedCell } from './marked-cell.js';

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
    this.list = make('div', { class: 'bars' });
    this.list.addEventListener('click', (event) => {
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
    const [place] = visible.rows[cell.row].places; // for a whole word, its first token
    replace(this.title, ...fillElements(t('effects_title'), { word: make('b', {}, source.name(visible, 'rows', [cell.row])) }));
    const query = { request: translation.requestValues(), place };
    const key = JSON.stringify(query);
    if (key !== this.latest.shownKey) this.heads = null;
    this.load(
      key,
      (signal) => callLatest(this.server.strongest_effects, query, null, null, signal),
      (answer) => this.show(answer),
      t('effects_waits'),
    );
    this.mark();
  }

  show({ heads, strongest }) {
    this.heads = heads;
    const most = Math.max(...strongest.flatMap(({ predicted, measured }) => [predicted, measured].map(Math.abs)), 1e-9);
    const names = [t('effects_head'), '', t('effects_predicted'), t('effects_measured')];
    replace(
      this.list,
      make('div', { class: 'names' }, ...names.map((name) => make('span', {}, name))),
      ...strongest.map((head) => this.bar(head, most)),
    );
    const close = () => {
      this.element.open = false;
    };
    const back = make('button', { type: 'button', class: 'link', onclick: close }, t('link_heads_back'));
    replace(this.body, make('p', { class: 'quiet' }, t('effects_says')), this.list, back);
    this.mark();
  }

  bar({ kind, layer, head, predicted, measured }, most) {
    const fill = make('i', {
      style: `width:${((100 * Math.abs(measured)) / most).toFixed(1)}%`,
    });
    const name = kind === 'cross' ? shortName({ layer, head }) : `${t(`kind_${kind}_short`)} ${shortName({ layer, head })}`;
    const numbers = [predicted, measured].map((value) => make('span', { class: 'numeric' }, formatEffect(value)));
    return make(
      'button',
      { type: 'button', data: { kind, layer, head, sign: Math.sign(measured) } },
      make('span', {}, name),
      make('span', { class: 'track' }, fill),
      ...numbers,
    );
  }

  /** Marks the shown head, if it is listed, and colours bars and wall. */
  mark() {
    if (this.element.open && this.heads) this.colourWall(this.heads[state.kind]);
    for (const button of this.list.querySelectorAll('button')) {
      const { sign } = button.dataset;
      button.querySelector('i').style.background = cssColour(scaleColour('difference', effectLevel(Number(sign)))); // the theme may have changed
      const here = { layer: Number(button.dataset.layer), head: Number(button.dataset.head) };
      button.setAttribute('aria-pressed', String(button.dataset.kind === state.kind && sameHead(here, this.view.updateSelection())));
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
