// "Which heads wrote this word?": the heads with the largest effect on it, estimated by one backward pass and measured
// by a run without each head.

import { callLatest } from '../core/boot.js';
import { make, fillElements, replace } from '../core/dom.js';
import { formatSigned } from '../core/map-view.js';
import { set, state } from '../core/state.js';
import { sameHead } from '../core/store.js';
import { t } from '../core/i18n.js';
import { shortName } from '../parts/head-names.js';
import { Question } from './question.js';
import { markedCell } from './marked-cell.js';

export class WordEffects extends Question {
  /** @param {import('../core/server.js').Server} server */
  constructor(server, view) {
    super('word-effects');
    this.server = server;
    this.view = view;
    this.list = make('div', { class: 'bars' });
    this.list.addEventListener('click', (event) => {
      const { kind, layer, head } = event.target.closest('button')?.dataset ?? {};
      if (kind) set({ ...(kind === state.kind ? {} : { kind, row: null, column: null }), layer: Number(layer), head: Number(head) });
    });
  }

  draw() {
    const { view: shown, source } = this.view;
    const { translation, kind } = state;
    const cell = shown && kind !== 'encoder' ? markedCell(shown, state) : null;
    this.element.hidden = !cell;
    if (!cell) return;
    const [place] = shown.rows[cell.row].places; // of a whole word, the first token
    replace(this.title, ...fillElements(t('effects_title'), { word: make('b', {}, source.name(shown, 'rows', [cell.row])) }));
    const wanted = { request: translation.requestValues(), place };
    this.load(
      JSON.stringify(wanted),
      (signal) => callLatest(this.server.strongest_effects, wanted, null, null, signal),
      (answer) => this.show(answer),
      t('effects_waits'),
    );
    this.mark();
  }

  show({ heads }) {
    const most = Math.max(...heads.flatMap(({ predicted, measured }) => [predicted, measured].map(Math.abs)), 1e-9);
    const names = [t('effects_head'), '', t('effects_predicted'), t('effects_measured')];
    replace(
      this.list,
      make('div', { class: 'names' }, ...names.map((name) => make('span', {}, name))),
      ...heads.map((head) => this.bar(head, most)),
    );
    replace(this.body, make('p', { class: 'quiet' }, t('effects_says')), this.list);
    this.mark();
  }

  bar({ kind, layer, head, predicted, measured }, most) {
    const fill = make('i', {
      class: measured < 0 ? 'against' : '',
      style: `width:${((100 * Math.abs(measured)) / most).toFixed(1)}%`,
    });
    const name = kind === 'cross' ? shortName({ layer, head }) : `${t(`kind_${kind}_short`)} ${shortName({ layer, head })}`;
    const numbers = [predicted, measured].map((value) =>
      make('span', { class: 'numeric' }, `${value > 0 ? '+' : ''}${formatSigned(value, 2)}`),
    );
    return make(
      'button',
      { type: 'button', data: { kind, layer, head } },
      make('span', {}, name),
      make('span', { class: 'track' }, fill),
      ...numbers,
    );
  }

  /** Marks the shown head, if it is listed. */
  mark() {
    for (const button of this.list.querySelectorAll('button')) {
      const here = { layer: Number(button.dataset.layer), head: Number(button.dataset.head) };
      button.setAttribute('aria-pressed', String(button.dataset.kind === state.kind && sameHead(here, this.view.updateSelection())));
    }
  }
}
