// List of the finished translations of a search, best first, with their scores and buttons to open them.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { section } from './section.js';

const PENALTY_PHRASES = { 0: 'plain', 1: 'even' }; // by length penalty; other penalties are shown as numbers

export class FinishedList {
  /** Callbacks: `choose(node)` selects a path in the tree, `open(node)` opens it as a translation. */
  constructor({ choose, open }) {
    this.choose = choose;
    this.open = open;
    this.list = make('ol', {});
    this.backTranslationNote = make('p', { class: 'sub-note' });
    this.sumNote = make('p', { class: 'sub-note' });
    this.section = section('finished', this.backTranslationNote, this.list, this.sumNote);
  }

  /**
   * Draws the finished nodes of a search. `penalty`: length penalty; `backs`: back-translation score per finished node, or
   * null; `weight`: weight of these scores; `canOpen`: whether paths can be opened.
   */
  draw({ tree, finished, penalty, backs, weight }, canOpen) {
    this.section.title.textContent = t('decoding_finished');
    this.section.caption.textContent = t(`decoding_score_${PENALTY_PHRASES[penalty] ?? 'penalty'}`, { penalty });
    this.sumNote.textContent = t('decoding_sum_note');
    this.backTranslationNote.hidden = backs.every((back) => back === null);
    this.backTranslationNote.textContent = this.backTranslationNote.hidden ? '' : t('decoding_guess_says', { weight });
    replace(this.list, ...finished.map((node, rank) => this.makeItem(tree, node, rank, { back: backs[rank], weight }, canOpen)));
  }

  makeItem(tree, node, rank, { back, weight }, canOpen) {
    const { text } = tree.getNode(node);
    const { log_probability, score } = tree.getFacts(node);
    const pageIds = state.translation.target.map((token) => token.id).join();
    const tags = [
      rank === 0 && 'decoding_chosen',
      tree.ids(node).join() === pageIds && state.translation.request.target && 'decoding_opened',
    ];
    const scores = [
      ['decoding_score', score],
      ...(back === null
        ? [['decoding_log_probability', log_probability]]
        : [
            ['decoding_guess', back],
            ['decoding_together', score + weight * back],
          ]),
    ];
    const scoreText = scores.map(([phrase, value]) => `${t(phrase)} ${formatSigned(value)}`).join(' · ');
    const tagText = tags
      .filter(Boolean)
      .map((tag) => ` · ${t(tag)}`)
      .join('');
    const openAttributes = { type: 'button', class: 'link', 'aria-label': t('decoding_open_named', { text }) };
    const openButton = make('button', { ...openAttributes, onclick: () => this.open(node) }, t('decoding_open'));
    const attributes = { type: 'button', class: 'reads', dir: 'auto', lang: state.translation.model.target };
    const textButton = make('button', { ...attributes, onclick: () => this.choose(node) }, text);
    const numbers = make('span', { class: 'numeric' }, scoreText);
    return make('li', {}, textButton, make('p', {}, numbers, tagText, canOpen ? ' ' : null, canOpen ? openButton : null));
  }
}
