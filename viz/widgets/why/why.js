// The Why tab: one query and one key of one head, dimension by dimension, and the softmax over its row.

import { call, loadPlotly } from '../core/boot.js';
import { make, phrase, replace } from '../core/dom.js';
import { Latest } from '../core/latest.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { four } from '../core/view.js';
import { t } from '../core/words.js';
import { headName, kindSays } from '../parts/naming.js';
import { nearestHead, placesOf, selectionOf, strongestCell } from './pair.js';
import { Product } from './product.js';
import { Softmax } from './softmax.js';
import { Strip } from './strip.js';
import { WhichHead } from './whichhead.js';

export async function mount({ element, server }) {
  await ready;
  new Why(element, server);
}

class Why {
  constructor(root, server) {
    this.root = root;
    this.server = server;
    this.row = null;
    this.column = null;
    this.build();
    this.latest = new Latest(this.found, this.error, 'why_failed');
    on(['tab', 'translation', 'kind', 'layer', 'head', 'row', 'column', 'words', 'special', 'language', 'theme'], () => this.update());
    on(['busy'], () => root.classList.toggle('busy', state.busy));
    this.update();
  }

  build() {
    this.which = new WhichHead(() => ([this.row, this.column] = [null, null]));
    this.says = make('p', { class: 'says' });
    this.queries = new Strip('row', (row) => this.choose({ row }));
    this.keys = new Strip('column', (column) => this.choose({ column }));
    this.error = make('p', { class: 'error', role: 'alert' });
    this.noneSays = make('p', {});
    this.nearest = make('button', { type: 'button', class: 'go' });
    this.none = make('div', { class: 'none', hidden: true }, this.noneSays, this.nearest);
    this.value = make('span', { class: 'value numeric' });
    this.looks = make('h2', {});
    this.note = make('p', { class: 'note' });
    const answer = make('div', { class: 'answer', 'aria-live': 'polite' }, this.value, make('div', {}, this.looks, this.note));
    this.product = new Product();
    this.softmax = new Softmax((column) => this.choose({ column }));
    this.found = make('div', {}, answer, make('div', { class: 'steps' }, this.product.element, this.softmax.element));
    const pick = make('div', { class: 'pick' }, this.queries.element, this.keys.element);
    this.root.append(this.which.element, this.says, this.error, this.none, pick, this.found);
  }

  // ---------------------------------------------------------------- which pair

  /** What is pinned, and where nothing is, the strongest cell of the head on show. */
  settle() {
    const { translation, kind, layer, head } = state;
    const [row, column] = placesOf(translation, kind, state, [this.row, this.column]);
    const [best, other] = strongestCell(translation.map(kind, layer, head), row, column);
    [this.row, this.column] = [row ?? best, column ?? other];
  }

  choose(changes) {
    Object.assign(this, changes);
    set(selectionOf(state.translation, state.kind, this.row, this.column));
    this.update();
  }

  // ---------------------------------------------------------------- asking

  update() {
    if (state.tab !== 'why' || !state.translation) return;
    const { translation, kind, layer, head } = state;
    this.settle();
    this.drawChoice();
    const single = typeof layer === 'number' && typeof head === 'number';
    this.none.hidden = single;
    this.found.hidden = !single;
    if (!single) {
      this.latest.drop(); // what is on its way belongs to another head
      this.drawNone();
      return;
    }
    const wanted = {
      request: translation.asked(),
      kind,
      layer,
      head,
      row: this.row,
      column: this.column,
      theme: state.theme,
      language: state.language,
    };
    const both = () => Promise.all([call(this.server.explain_pair, wanted), loadPlotly()]);
    this.latest.show(JSON.stringify(wanted), both, ([told, plotly]) => this.draw(plotly, { ...told, at: wanted.row, to: wanted.column }));
  }

  // ---------------------------------------------------------------- drawing

  drawChoice() {
    const { translation, kind, layer, head } = state;
    const { source, target } = translation.model;
    this.which.draw();
    this.says.textContent = kindSays(translation, kind);
    this.queries.name(t(kind === 'encoder' ? 'why_query' : 'why_query_written'), kind === 'encoder' ? source : target);
    this.keys.name(t('why_key'), kind === 'decoder' ? target : source);
    this.queries.draw(translation.rows(kind), this.row);
    const width = translation.columns(kind).length;
    const start = this.row * width;
    this.keys.draw(translation.columns(kind), this.column, translation.map(kind, layer, head).weights.subarray(start, start + width));
  }

  drawNone() {
    const { translation, kind, layer, head } = state;
    const nearest = nearestHead(translation, kind, layer, head);
    this.noneSays.textContent = t(head === 'max' ? 'why_maximum' : 'why_average');
    this.nearest.textContent = t('why_nearest', { head: headName(nearest.layer, nearest.head) });
    this.nearest.onclick = () => {
      set(nearest);
      this.which.focus();
    };
  }

  /** What the server told of the query at `at` and the key at `to`. */
  draw(plotly, told) {
    const { translation, kind } = state;
    const { row, at, to } = told;
    const [from, onto] = [translation.rows(kind)[at], translation.columns(kind)[to]];
    const name = (token) => make('b', {}, make('bdi', {}, token.label));
    const allowed = row.allowed[to];
    this.value.textContent = four(row.weights[to]);
    replace(this.looks, ...phrase(t(allowed ? 'why_looks' : 'why_looks_not'), { query: name(from), key: name(onto) }));
    const after = kind === 'encoder' ? [''] : phrase(t('why_after'), { token: name(translation.after(kind, at)) });
    const masked = from.key === onto.key ? 'why_masked_same' : 'why_masked';
    replace(this.note, ...(allowed ? after : phrase(t(masked), { query: name(from), key: name(onto) })));
    this.product.draw(plotly, told, name, [from, onto]);
    this.softmax.draw(row, to, from, translation.columns(kind));
  }
}
