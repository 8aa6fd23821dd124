// The number pointed at, in words and four decimals; and the strongest words of the lit row or column.

import { make, phrase, replace, touch } from '../core/dom.js';
import { comparing, state } from '../core/state.js';
import { columnOf, four, rowOf, signed, strongest } from '../core/view.js';
import { t } from '../core/words.js';

const LISTED = 6;

export function mountReadout(element) {
  const value = make('span', { class: 'value numeric' });
  const words = make('span', { class: 'words' });
  const sum = make('span', { class: 'quiet numeric' });
  element.classList.add('readout');
  element.append(value, words, sum);

  return function read(view, other) {
    const row = state.hoverRow ?? state.row;
    const column = state.hoverColumn ?? state.column;
    value.textContent = '';
    sum.textContent = '';
    if (row === null && column === null) {
      words.textContent = t(touch() ? 'readout_tap' : 'readout_idle');
      return;
    }
    const [r, c] = focus(view, other, row, column);
    const weight = view.weights[r * view.columns.length + c];
    const name = (item) => make('b', {}, make('bdi', {}, item.label));
    const looks = phrase(t('looks_at'), { query: name(view.rows[r]), key: name(view.columns[c]) });
    if (weight !== weight) {
      value.textContent = '–';
      replace(words, ...looks, ` · ${t('masked')}`);
      return;
    }
    if (other) {
      const first = other.weights[r * view.columns.length + c];
      value.textContent = signed(first - weight, 4);
      sum.textContent = t('both_values', { a: four(first), b: four(weight) });
      replace(words, ...looks);
      return;
    }
    value.textContent = four(weight);
    const after = view.kind === 'encoder' || row === null ? null : state.answer.after(view.kind, view.rows[r].places[0]);
    replace(words, ...looks, after ? make('span', { class: 'quiet' }, ` ${t('after', { token: after.label })}`) : null);
    if (row !== null && !view.maximum) {
      const total = rowOf(view, row).reduce((all, each) => all + (each || 0), 0);
      sum.textContent = t('row_sums_to', { sum: four(total) });
    }
  };
}

/** The cell meant: of a row alone its strongest column (comparing: where A and B differ most), and the reverse. */
function focus(view, other, row, column) {
  const gap = (one, two) => (other ? Float32Array.from(one, (weight, place) => Math.abs(two[place] - weight)) : one);
  if (row !== null && column !== null) return [row, column];
  if (row !== null) return [row, strongest(gap(rowOf(view, row), other && rowOf(other, row)))];
  return [strongest(gap(columnOf(view, column), other && columnOf(other, column))), column];
}

export function mountList(element) {
  element.classList.add('list');
  return function list(view) {
    const row = state.hoverRow ?? state.row;
    const column = state.hoverColumn ?? state.column;
    const width = view.columns.length;
    const name = (item) => make('b', {}, make('bdi', {}, item.label));
    let entries;
    let title;
    if (row !== null) {
      entries = Array.from(rowOf(view, row), (weight, place) => [view.columns[place].label, weight]);
      title = phrase(t('list_row'), { token: name(view.rows[row]) });
    } else if (column !== null) {
      entries = Array.from(columnOf(view, column), (weight, place) => [view.rows[place].label, weight]);
      title = phrase(t('list_column'), { token: name(view.columns[column]) });
    } else {
      entries = top(view.weights, LISTED).map((cell) => [
        `${view.rows[Math.floor(cell / width)].label} → ${view.columns[cell % width].label}`,
        view.weights[cell],
      ]);
      title = [t('list_all')];
    }
    const badge = comparing() ? make('b', { class: 'second' }, 'B ') : null;
    const best = entries.filter(([, weight]) => weight === weight).sort((one, two) => two[1] - one[1]);
    replace(
      element,
      make('h3', {}, ...[badge, ...title].filter(Boolean)),
      ...best.slice(0, LISTED).map(([label, weight]) => {
        const bar = make('i', { style: `width:${100 * Math.min(1, weight)}%` });
        return make(
          'div',
          {},
          make('span', { title: label }, make('bdi', {}, label)),
          make('span', {}, bar),
          make('span', { class: 'numeric' }, four(weight)),
        );
      }),
    );
  };
}

/** The places of the greatest numbers, without sorting all of them. */
export function top(values, count, size = (value) => value) {
  const best = [];
  for (let place = 0; place < values.length; place++) {
    const here = size(values[place]);
    if (here !== here || (best.length === count && here <= size(values[best.at(-1)]))) continue;
    let at = best.length;
    while (at > 0 && size(values[best[at - 1]]) < here) at--;
    best.splice(at, 0, place);
    if (best.length > count) best.pop();
  }
  return best;
}
