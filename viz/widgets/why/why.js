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
import { QueryKeyPair, findNearestHead } from './query-key.js';
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
    this.listsAllKeys = false; // whether each key of a long sentence has a row
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
    this.emptyText = make('p', {});
    this.nearestButton = make('button', { type: 'button', class: 'go' });
    this.emptyState = make('div', { class: 'none', hidden: true }, this.emptyText, this.nearestButton); // for means and maxima
    const choose = (column) => this.choose({ row: this.pair.row, column });
    const expand = () => this.showAllKeys();
    this.table = new RowTable(choose, expand);
    this.stream = new StreamTable(choose, expand);
    this.dimensions = new DimensionTable();
    this.score = new ScoreParts(this.server);
    this.streamError = make('p', { class: 'error', role: 'alert' });
    const answer = make('div', { class: 'answer', 'aria-live': 'polite' }, this.title, this.note);
    const header = make('div', { class: 'head' }, answer, this.headPicker.controls);
    const kinds = make('div', { class: 'bar' }, this.headPicker.kinds, this.description);
    this.rowSummary = make('summary', {});
    this.rowDetails = make('details', { class: 'products' }, this.rowSummary, this.table.element, this.dimensions.element);
    this.streamContent = make('div', {}, this.stream.element);
    this.content = make('div', {}, this.score.element, this.error, this.rowDetails, this.streamError, this.streamContent);
    this.rowRequest = new LatestRequest(this.rowDetails, this.error, 'why_failed');
    this.streamRequest = new LatestRequest(this.streamContent, this.streamError, 'why_failed');
    this.root.append(header, kinds, this.queries.element, this.emptyState, this.content);
  }

  choose(cell) {
    this.listsAllKeys = this.listsAllKeys && cell.row === this.pair.row;
    this.pair.choose(state.translation, state.kind, cell);
    this.update();
  }

  showAllKeys() {
    this.listsAllKeys = true;
    this.update();
  }

  // ---------------------------------------------------------------- requests

  update() {
    if (state.tab !== 'why' || !state.translation) return;
    const { translation, kind, layer, head } = state;
    const { row, column } = this.pair.resolve(translation, kind, layer, head);
    this.drawControls(row);
    const isSingleHead = typeof layer === 'number' && typeof head === 'number';
    this.emptyState.hidden = isSingleHead;
    this.content.hidden = !isSingleHead;
    if (!isSingleHead) {
      for (const request of [this.rowRequest, this.streamRequest]) request.cancel(); // pending responses belong to another head
      this.drawEmptyState();
      return;
    }
    this.drawTitle(row, column);
    this.score.show({ translation, kind, layer, head, row, column });
    const query = { request: translation.requestValues(), kind, layer, head, row, column, every: this.listsAllKeys };
    const key = JSON.stringify([query, state.theme, state.language]);
    const cell = { translation, kind, row, column };
    this.rowRequest.load(
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

  drawControls(row) {
    const { translation, kind } = state;
    this.headPicker.draw();
    this.description.textContent = kindText(translation, kind);
    const { source, target } = translation.model;
    this.queries.setLabel(t(kind === 'encoder' ? 'why_query' : 'why_writing'), kind === 'encoder' ? source : target);
    this.queries.draw(translation.rows(kind), row);
  }

  /** Offers the nearest single head in place of a mean or a maximum. */
  drawEmptyState() {
    const { translation, kind, layer, head } = state;
    const nearest = findNearestHead(translation, kind, layer, head);
    replace(this.title);
    replace(this.note);
    this.emptyText.textContent = t(head === 'max' ? 'why_maximum' : 'why_average');
    this.nearestButton.textContent = t('why_nearest', { head: headName(nearest.layer, nearest.head) });
    this.nearestButton.onclick = () => {
      set(nearest);
      this.headPicker.focus();
    };
  }

  drawTitle(row, column) {
    const { translation, kind, layer, head } = state;
    const [query, key] = [translation.rows(kind)[row], translation.columns(kind)[column]];
    const { weights, columns } = translation.map(kind, layer, head);
    const isAllowed = !Number.isNaN(weights[row * columns + column]);
    const name = (token) => make('bdi', {}, token.label);
    replace(this.title, ...fillElements(t(isAllowed ? 'why_title' : 'why_looks_not'), { query: name(query), key: name(key) }));
    const maskNote = query.key === key.key ? 'why_masked_same' : 'why_masked';
    const inputNote = kind === 'encoder' ? [''] : fillElements(t('why_after'), { token: name(translation.previousToken(kind, row)) });
    replace(this.note, ...(isAllowed ? inputNote : fillElements(t(maskNote), { query: name(query), key: name(key) })));
  }

  drawRow(answer, { translation, kind, row, column }) {
    const [query, keys] = [decodeArray(answer.query).numbers, decodeArray(answer.keys).numbers];
    const width = query.length;
    this.rowSummary.textContent = t('why_products_fold', { count: width });
    const description = t(kind === 'encoder' ? 'why_query_says' : 'why_query_written', { width });
    const decodedAnswer = { ...answer, query, keys, width };
    this.table.draw(decodedAnswer, column, translation.rows(kind)[row], translation.columns(kind), description);
    const index = answer.own.indexOf(column);
    this.dimensions.draw(query, keys.subarray(index * width, (index + 1) * width), translation.columns(kind)[column].label);
  }

  drawStream(answer, { translation, kind, row, column }) {
    const total = decodeArray(answer.total).numbers;
    const output = decodeArray(answer.written).numbers;
    const rest = answer.rest && decodeArray(answer.rest).numbers;
    const makeTargetName = () => make('bdi', {}, translation.rows(kind)[row].label);
    const decodedAnswer = { ...answer, total, written: output, rest, width: total.length };
    this.stream.draw(decodedAnswer, column, translation.columns(kind), makeTargetName);
  }
}
