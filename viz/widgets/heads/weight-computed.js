// "How is this weight computed?": score, exponential and share of the strongest keys of a row, and the sums of all other keys.

import { callWithRetry } from '../core/boot.js';
import { make, replace, tableHead } from '../core/dom.js';
import { argMax, threeDecimals } from '../core/map-view.js';
import { set, state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { Question } from './question.js';
import { findMarkedCell } from './marked-cell.js';

const MAX_KEYS = 3; // keys with a separate row

export class WeightComputed extends Question {
  /** @param {import('../core/server.js').Server} server */
  constructor(server, view) {
    super('weight-computed');
    this.server = server;
    this.view = view;
    this.whyLink = make('button', { type: 'button', class: 'link', onclick: () => set({ tab: 'why' }) });
  }

  draw() {
    const { view } = this.view;
    const cell = view && findMarkedCell(view, state);
    const { translation, kind } = state;
    const { layer, head } = this.view.updateSelection();
    const single = typeof layer === 'number' && typeof head === 'number';
    this.element.hidden = !cell || !single;
    if (!cell || !single) return;
    const row = view.rows[cell.row].places[0]; // for a whole word, the row of its first token
    const weights = translation.map(kind, layer, head);
    const positions = view.columns[cell.column].places;
    const ownWeights = positions.map((position) => weights.weights[row * weights.columns + position]);
    const column = positions[argMax(ownWeights)];
    this.title.textContent = t('computed_title', { weight: threeDecimals(Math.max(...ownWeights) || 0) });
    const query = { request: translation.requestValues(), kind, layer, head, row, column, every: true };
    this.load(
      JSON.stringify(query),
      (signal) => callWithRetry(this.server.explain_row, query, null, null, signal),
      (answer) => this.show(answer, translation.columns(kind), column),
      t('computed_waits'),
    );
  }

  show({ scores, powers, total, weights, allowed }, keys, selectedKey) {
    const ranked = [...keys.keys()].filter((key) => allowed[key]).sort((left, right) => weights[right] - weights[left]);
    const visibleKeys = [selectedKey, ...ranked.filter((key) => key !== selectedKey)].slice(0, MAX_KEYS).filter((key) => allowed[key]);
    visibleKeys.sort((a, b) => weights[b] - weights[a]);
    const otherKeys = ranked.filter((key) => !visibleKeys.includes(key));
    const sum = (numbers, keys) => keys.reduce((all, key) => all + numbers[key], 0);
    const line = (name, score, power, weight, className = '') =>
      make(
        'tr',
        { class: className },
        make('th', { scope: 'row' }, name),
        ...[score, power, weight].map((text) => make('td', { class: 'numeric' }, text)),
      );
    const table = make(
      'table',
      {},
      tableHead([t('computed_key'), t('computed_score'), t('computed_power'), t('computed_share')]),
      make(
        'tbody',
        {},
        ...visibleKeys.map((index) => {
          const name = make('bdi', {}, keys[index].label);
          return line(
            name,
            threeDecimals(scores[index]), // with fewer digits, the displayed exponential would not match
            formatLarge(powers[index]),
            threeDecimals(weights[index]),
            index === selectedKey ? 'chosen' : '',
          );
        }),
        otherKeys.length
          ? line(
              t('computed_rest', { count: otherKeys.length }),
              '',
              formatLarge(sum(powers, otherKeys)),
              threeDecimals(sum(weights, otherKeys)),
            )
          : null,
        line(t('computed_sum'), '', formatLarge(total), threeDecimals(sum(weights, ranked)), 'total'),
      ),
    );
    this.whyLink.textContent = t('computed_why');
    this.whyLink.hidden = !document.getElementById('panel-why');
    replace(this.body, make('p', { class: 'quiet' }, t('computed_says')), table, this.whyLink);
  }
}

const formatLarge = (number) => (number >= 1000 ? Math.round(number).toLocaleString('en') : number.toFixed(2));
