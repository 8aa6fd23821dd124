// The Why tab: how a head computes one row of weights, and each key's contribution to the residual stream.

import { callWithRetry } from '../core/boot.js';
import { make, fillElements, replace } from '../core/dom.js';
import { LatestRequest } from '../core/latest-request.js';
import { decodeArray } from '../core/base64-arrays.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { headName, kindText } from '../parts/head-names.js';
import { DimensionTable } from './dimension-table.js';
import { QueryKeyPair, nearestHead } from './query-key.js';
import { ScoreParts } from './score-parts.js';
import { RowTable } from './row-table.js';
import { StreamTable } from './stream-table.js';
import { TokenRadio } from './token-radio.js';
import { HeadPicker } from './head-picker.js';

/** @param {import('../core/server.js').Mounted} mounted */
export async function mount({ element, server }) {
  await ready;
  new WhyTab(element, server);
}

class WhyTab {
  /** @param {import('../core/server.js').Server} server */
  constructor(root, server) {
    this.root = root;
    this.server = server;
    this.pair = new QueryKeyPair();
    this.every = false; // whether each key of a long sentence has a row
    this.build();
    on(['tab', 'translation', 'kind', 'layer', 'head', 'row', 'column', 'words', 'special', 'language', 'theme'], () => this.update());
    on(['busy'], () => root.classList.toggle('busy', state.busy));
    this.update();
  }

  build() {
    this.headPicker = new HeadPicker(() => this.pair.reset());
    this.title = make('h2', { class: 'view-title' });
    this.description = make('p', { class: 'says' });
    this.note = make('p', { class: 'note' });
    this.queries = new TokenRadio((row) => this.choose({ row, column: null }));
    this.error = make('p', { class: 'error', role: 'alert' });
    this.noneText = make('p', {});
    this.nearest = make('button', { type: 'button', class: 'go' });
    this.none = make('div', { class: 'none', hidden: true }, this.noneText, this.nearest);
    const choose = (column) => this.choose({ row: this.pair.row, column });
    const expand = () => this.showAllKeys();
    this.table = new RowTable(choose, expand);
    this.stream = new StreamTable(choose, expand);
    this.dimensions = new DimensionTable();
    this.score = new ScoreParts(this.server);
    this.streamError = make('p', { class: 'error', role: 'alert' });
    const answer = make('div', { class: 'answer', 'aria-live': 'polite' }, this.title, this.note);
    const head = make('div', { class: 'head' }, answer, this.headPicker.pickers);
    const kinds = make('div', { class: 'bar' }, this.headPicker.kinds, this.description);
    this.productsName = make('summary', {});
    this.weights = make('details', { class: 'products' }, this.productsName, this.table.element, this.dimensions.element);
    this.streamBox = make('div', {}, this.stream.element);
    this.content = make('div', {}, this.score.element, this.error, this.weights, this.streamError, this.streamBox);
    this.row = new LatestRequest(this.weights, this.error, 'why_failed');
    this.streamRequest = new LatestRequest(this.streamBox, this.streamError, 'why_failed');
    this.root.append(head, kinds, this.queries.element, this.none, this.content);
  }

  choose(cell) {
    this.every = this.every && cell.row === this.pair.row;
    this.pair.choose(state.translation, state.kind, cell);
    this.update();
  }

  showAllKeys() {
    this.every = true;
    this.update();
  }

  // ---------------------------------------------------------------- requests

  update() {
    if (state.tab !== 'why' || !state.translation) return;
    const { translation, kind, layer, head } = state;
    const { row, column } = this.pair.resolve(translation, kind, layer, head);
    this.drawChoice(row);
    const single = typeof layer === 'number' && typeof head === 'number';
    this.none.hidden = single;
    this.content.hidden = !single;
    if (!single) {
      for (const waiting of [this.row, this.streamRequest]) waiting.cancel(); // pending responses belong to another head
      this.drawNone();
      return;
    }
    this.drawTitle(row, column);
    this.score.show({ translation, kind, layer, head, row, column });
    const query = { request: translation.requestValues(), kind, layer, head, row, column, every: this.every };
    const key = JSON.stringify([query, state.theme, state.language]);
    const cell = { translation, kind, row, column };
    this.row.load(
      key,
      (signal) => callWithRetry(this.server.explain_row, query, null, null, signal),
      (answer) => this.drawRow(answer, cell),
    );
    this.streamRequest.load(
      key,
      (signal) => callWithRetry(this.server.explain_stream, query, null, null, signal),
      (answer) => this.drawStream(answer, cell),
    );
  }

  // ---------------------------------------------------------------- drawing

  drawChoice(row) {
    const { translation, kind } = state;
    this.headPicker.draw();
    this.description.textContent = kindText(translation, kind);
    const { source, target } = translation.model;
    this.queries.name(t(kind === 'encoder' ? 'why_query' : 'why_writing'), kind === 'encoder' ? source : target);
    this.queries.draw(translation.rows(kind), row);
  }

  drawNone() {
    const { translation, kind, layer, head } = state;
    const nearest = nearestHead(translation, kind, layer, head);
    replace(this.title);
    replace(this.note);
    this.noneText.textContent = t(head === 'max' ? 'why_maximum' : 'why_average');
    this.nearest.textContent = t('why_nearest', { head: headName(nearest.layer, nearest.head) });
    this.nearest.onclick = () => {
      set(nearest);
      this.headPicker.focus();
    };
  }

  drawTitle(row, column) {
    const { translation, kind, layer, head } = state;
    const [query, key] = [translation.rows(kind)[row], translation.columns(kind)[column]];
    const { weights, columns } = translation.map(kind, layer, head);
    const allowed = !Number.isNaN(weights[row * columns + column]);
    const name = (token) => make('bdi', {}, token.label);
    replace(this.title, ...fillElements(t(allowed ? 'why_title' : 'why_looks_not'), { query: name(query), key: name(key) }));
    const masked = query.key === key.key ? 'why_masked_same' : 'why_masked';
    const after = kind === 'encoder' ? [''] : fillElements(t('why_after'), { token: name(translation.previousToken(kind, row)) });
    replace(this.note, ...(allowed ? after : fillElements(t(masked), { query: name(query), key: name(key) })));
  }

  drawRow(answer, { translation, kind, row, column }) {
    const [query, keys] = [decodeArray(answer.query).numbers, decodeArray(answer.keys).numbers];
    const width = query.length;
    const explanation = { ...answer, query, keys, width };
    this.productsName.textContent = t('why_products_fold', { count: width });
    const caption = t(kind === 'encoder' ? 'why_query_says' : 'why_query_written', { width });
    this.table.draw(explanation, column, translation.rows(kind)[row], translation.columns(kind), caption);
    const index = answer.own.indexOf(column);
    this.dimensions.draw(query, keys.subarray(index * width, (index + 1) * width), translation.columns(kind)[column].label);
  }

  drawStream(answer, { translation, kind, row, column }) {
    const total = decodeArray(answer.total).numbers;
    const output = decodeArray(answer.written).numbers;
    const rest = answer.rest && decodeArray(answer.rest).numbers;
    const word = () => make('bdi', {}, translation.rows(kind)[row].label);
    this.stream.draw({ ...answer, total, written: output, rest, width: total.length }, column, translation.columns(kind), word);
  }
}
