// The translations that a search finished, best first: how each was scored, and a way to open it.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { minus } from '../core/view.js';
import { t } from '../core/words.js';
import { section } from './section.js';

const SCORES = { 0: 'plain', 1: 'even' }; // by length penalty; any other is told as it is

export class Finished {
  /** `choose(node)`: show its path on the tree. `open(node)`: its path as a translation. */
  constructor({ choose, open }) {
    this.choose = choose;
    this.open = open;
    this.list = make('ol', {});
    this.note = make('p', { class: 'sub-note' });
    this.section = section('finished', this.list, this.note);
  }

  /** The ends of a search: its `tree`, the nodes that `finished`, the length `penalty`. `opens`: whether a path can be opened. */
  draw({ tree, finished, penalty }, opens) {
    this.section.title.textContent = t('decoding_finished');
    this.section.says.textContent = t(`decoding_score_${SCORES[penalty] ?? 'penalty'}`, { penalty });
    this.note.textContent = t('decoding_sum_note');
    replace(this.list, ...finished.map((node, rank) => this.line(tree, node, rank, opens)));
  }

  line(tree, node, rank, opens) {
    const { text } = tree.reads(node);
    const { log_probability, score } = tree.about(node);
    const shown = state.translation.target.map((token) => token.id).join();
    const tags = [
      rank === 0 && 'decoding_chosen',
      tree.ids(node).join() === shown && state.translation.request.target && 'decoding_opened',
    ];
    const numbers = `${t('decoding_score')} ${minus(score)} · ${t('decoding_log_probability')} ${minus(log_probability)}`;
    const said = tags
      .filter(Boolean)
      .map((tag) => ` · ${t(tag)}`)
      .join('');
    const named = { type: 'button', class: 'link', 'aria-label': t('decoding_open_named', { text }) };
    const open = make('button', { ...named, onclick: () => this.open(node) }, t('decoding_open'));
    const about = { type: 'button', class: 'reads', dir: 'auto', lang: state.translation.model.target };
    const reads = make('button', { ...about, onclick: () => this.choose(node) }, text);
    return make('li', {}, reads, make('p', {}, make('span', { class: 'numeric' }, numbers), said, opens ? ' ' : null, opens ? open : null));
  }
}
