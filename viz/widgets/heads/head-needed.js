// "Does this word need this head?": the word's probability with and without the head, and the translation without it.

import { callWithRetry } from '../core/boot.js';
import { make, fillElements, replace } from '../core/dom.js';
import { twoDecimals } from '../core/map-view.js';
import { set, state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { shortName } from '../parts/head-names.js';
import { Question } from './question.js';
import { findMarkedCell } from './marked-cell.js';

export class HeadNeeded extends Question {
  /** @param {import('../core/server.js').Server} server */
  constructor(server, view) {
    super('head-needed');
    this.server = server;
    this.view = view;
    this.offButton = make('button', { type: 'button', class: 'link' });
    this.offButton.addEventListener('click', () => {
      set({ interventions: JSON.stringify([this.change]), tab: 'whatif' });
      scrollTo(0, 0); // the changed sentence is at the top
    });
  }

  /** The intervention that removes the shown head. */
  get change() {
    const { layer, head } = this.view.updateSelection();
    return { kind: state.kind, layer, head, action: 'remove' };
  }

  draw() {
    const { view: visible, source } = this.view;
    const { translation, kind } = state;
    const cell = visible && kind !== 'encoder' ? findMarkedCell(visible, state) : null;
    const { layer, head } = this.view.updateSelection();
    const isSingleHead = typeof layer === 'number' && typeof head === 'number';
    this.element.hidden = !visible || !isSingleHead;
    if (this.element.hidden) return;
    const word = cell && make('b', {}, source.name(visible, 'rows', [cell.row]));
    replace(this.title, ...fillElements(t(word ? 'needed_word' : 'needed_sentence'), word ? { word } : {}));
    const request = translation.requestValues();
    const key = JSON.stringify([request, this.change, cell?.row ?? null]);
    const positions = cell ? visible.rows[cell.row].places : translation.target.map((_, index) => index);
    this.load(
      key,
      (signal) => callWithRetry(this.server.changed_translation, { request, interventions: [this.change] }, null, null, signal),
      (answer) => this.show(answer, positions),
      t('needed_waits', { head: shortName({ layer, head }) }),
    );
  }

  show({ held: forced, answer, own }, positions) {
    const original = own ?? state.translation;
    const multiplyProbabilities = (tokens) => positions.reduce((product, index) => product * (tokens[index]?.probability ?? 0), 1);
    const bar = (name, value, className) =>
      make(
        'div',
        { class: 'bar' },
        make('span', {}, t(name)),
        make('span', { class: `track ${className}` }, make('i', { style: `width:${(100 * value).toFixed(1)}%` })),
        make('span', { class: 'numeric' }, twoDecimals(value)),
      );
    const isUnchanged = answer.text === original.text;
    const text = make('b', {}, make('bdi', { lang: state.translation.model.target }, answer.text));
    this.offButton.textContent = t('needed_keep_off');
    replace(
      this.body,
      make('p', { class: 'quiet' }, t('needed_probability')),
      bar('needed_with', multiplyProbabilities(original.target), 'with'),
      bar('needed_without', multiplyProbabilities(forced.target), 'without'),
      make('p', { class: 'outcome' }, ...fillElements(t(isUnchanged ? 'needed_same' : 'needed_other'), { text })),
      this.offButton,
    );
  }
}
