// The Why tab: one query and one key of one head, dimension by dimension, and the softmax over its row.

import { KINDS } from '../core/answer.js';
import { call, loadPlotly } from '../core/boot.js';
import { icon, make, phrase, replace } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { four } from '../core/view.js';
import { faultSays, t } from '../core/words.js';
import { chooseKind } from '../parts/kinds.js';
import { headName, kindSays } from '../parts/naming.js';
import { nearestHead, placesOf, selectionOf, strongestCell } from './pair.js';

const QUIET = { displayModeBar: false, responsive: false };

export async function mount({ element, server }) {
  await ready;
  new Why(element, server);
}

class Why {
  constructor(root, server) {
    Object.assign(this, { root, server, turn: 0, shown: '', row: null, column: null });
    this.build();
    on(['tab', 'answer', 'kind', 'layer', 'head', 'row', 'column', 'words', 'special', 'language', 'theme'], () => this.update());
    on(['busy'], () => root.classList.toggle('busy', state.busy));
    new ResizeObserver(() => this.fit()).observe(this.chart);
    this.update();
  }

  build() {
    const round = (step, path) => make('button', { type: 'button', class: 'round', onclick: () => this.page(step) }, icon(18, [path], { width: 1.6 }));
    this.kinds = make('div', { class: 'segments', role: 'group' });
    this.says = make('p', { class: 'says' });
    this.previous = round(-1, 'M11 4L6 9l5 5');
    this.next = round(1, 'M7 4l5 5-5 5');
    this.layer = make('select', { onchange: () => set({ layer: place(this.layer.value) }) });
    this.head = make('select', { onchange: () => set({ head: place(this.head.value) }) });
    this.layerName = make('span', {});
    this.headName = make('span', {});
    const which = make('div', { class: 'which' }, this.previous, this.next);
    which.append(make('label', {}, this.layerName, this.layer), make('label', {}, this.headName, this.head));
    this.strips = ['row', 'column'].map((axis) => this.strip(axis));
    this.error = make('p', { class: 'error', role: 'alert' });
    this.noneSays = make('p', {});
    this.nearest = make('button', { type: 'button', class: 'go' });
    this.none = make('div', { class: 'none', hidden: true }, this.noneSays, this.nearest);
    this.value = make('span', { class: 'value numeric' });
    this.looks = make('h2', {});
    this.note = make('p', { class: 'note' });
    const answer = make('div', { class: 'answer', 'aria-live': 'polite' }, this.value, make('div', {}, this.looks, this.note));
    this.productTitle = make('h3', {});
    this.productSays = make('p', { class: 'says' });
    this.chart = make('div', { class: 'chart', role: 'img' });
    this.sum = make('p', { class: 'sum numeric' });
    this.sumSays = make('p', { class: 'sum-says' });
    this.numbers = make('summary', {});
    this.table = make('table', {});
    this.region = make('div', { class: 'scrolls', tabindex: 0, role: 'region' }, this.table);
    this.details = make('details', { ontoggle: () => this.drawNumbers() }, this.numbers, this.region);
    this.softmaxTitle = make('h3', {});
    this.softmaxSays = make('p', { class: 'says' });
    this.rows = make('table', {});
    this.scroll = make('div', { class: 'scrolls tall', tabindex: 0, role: 'region' }, this.rows);
    const product = make('section', {}, this.productTitle, this.productSays, this.chart, this.sum, this.sumSays, this.details);
    this.steps = make('div', { class: 'steps' }, product, make('section', {}, this.softmaxTitle, this.softmaxSays, this.scroll));
    this.found = make('div', {}, answer, this.steps);
    this.pick = make('div', { class: 'pick' }, ...this.strips.map(({ element }) => element));
    this.root.append(make('div', { class: 'bar' }, this.kinds, which), this.says, this.error, this.none, this.pick, this.found);
  }

  /** The tokens of one axis, to choose one of them. */
  strip(axis) {
    const who = make('div', { class: 'who', id: `why-${axis}` });
    const tokens = make('div', { class: 'strip', role: 'radiogroup', 'aria-labelledby': who.id });
    tokens.addEventListener('click', (event) => {
      const token = event.target.closest('[data-place]');
      if (token) this.choose({ [axis]: Number(token.dataset.place) });
    });
    tokens.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const token = event.target.closest('[data-place]');
      if (!step || !token) return;
      event.preventDefault();
      event.stopPropagation();
      const count = tokens.children.length;
      this.choose({ [axis]: (Number(token.dataset.place) + step + count) % count });
      tokens.querySelector('[aria-checked=true]').focus({ preventScroll: true });
    });
    return { axis, who, tokens, element: make('div', {}, who, tokens) };
  }

  // ---------------------------------------------------------------- which pair

  /** What is pinned, and where nothing is, the strongest cell of the head on show. */
  settle() {
    const { answer, kind, layer, head } = state;
    const [row, column] = placesOf(answer, kind, state, [this.row, this.column]);
    const [best, other] = strongestCell(answer.map(kind, layer, head), row, column);
    [this.row, this.column] = [row ?? best, column ?? other];
  }

  choose(changes) {
    Object.assign(this, changes);
    set(selectionOf(state.answer, state.kind, this.row, this.column));
    this.update();
  }

  page(step) {
    const { answer, kind } = state;
    const heads = answer.heads(kind);
    const [layer, head] = [state.layer, state.head].map((each) => (typeof each === 'number' ? each : 0));
    const count = heads * answer.layers(kind);
    const at = (layer * heads + head + step + count) % count;
    set({ layer: Math.floor(at / heads), head: at % heads, preview: null });
  }

  // ---------------------------------------------------------------- asking

  async update() {
    if (state.tab !== 'why' || !state.answer) return;
    const { answer, kind, layer, head } = state;
    this.settle();
    this.drawChoice();
    const single = typeof layer === 'number' && typeof head === 'number';
    this.none.hidden = single;
    this.found.hidden = !single;
    if (!single) return this.drawNone();
    const wanted = { request: answer.asked(), kind, layer, head, row: this.row, column: this.column, theme: state.theme, language: state.language };
    const key = JSON.stringify(wanted);
    if (key === this.shown) return;
    this.shown = key;
    const turn = ++this.turn;
    this.found.classList.add('waits');
    try {
      const [told, plotly] = [await call(this.server.explain_pair, wanted), await loadPlotly()];
      if (turn !== this.turn) return;
      this.error.textContent = '';
      this.plotly = plotly;
      this.told = { ...told, kind, layer, head, at: this.row, to: this.column };
      this.draw();
    } catch (error) {
      if (turn !== this.turn) return;
      this.shown = '';
      this.error.textContent = faultSays(error, 'why_failed');
      if (!error.fault) console.warn(error);
    } finally {
      if (turn === this.turn) this.found.classList.remove('waits');
    }
  }

  // ---------------------------------------------------------------- drawing

  drawChoice() {
    const { answer, kind, layer, head } = state;
    this.kinds.setAttribute('aria-label', t('kinds'));
    const button = (each) => make('button', { type: 'button', 'aria-pressed': String(each === kind), data: { kind: each }, onclick: () => this.pickKind(each) }, t(`kind_${each}`));
    replace(this.kinds, ...KINDS.map(button));
    this.says.textContent = kindSays(answer, kind);
    this.previous.setAttribute('aria-label', t('why_previous'));
    this.next.setAttribute('aria-label', t('why_next'));
    this.layerName.textContent = t('why_layer');
    this.headName.textContent = t('why_head');
    fill(this.layer, answer.layers(kind), layer);
    fill(this.head, answer.heads(kind), head);
    const [rows, columns] = this.strips;
    const { source, target } = answer.model;
    rows.who.textContent = t(kind === 'encoder' ? 'why_query' : 'why_query_written');
    columns.who.textContent = t('why_key');
    rows.tokens.lang = kind === 'encoder' ? source : target;
    columns.tokens.lang = kind === 'decoder' ? target : source;
    drawStrip(rows.tokens, answer.rows(kind), this.row);
    const width = answer.columns(kind).length;
    const start = this.row * width;
    drawStrip(columns.tokens, answer.columns(kind), this.column, answer.map(kind, layer, head).weights.subarray(start, start + width));
  }

  pickKind(kind) {
    [this.row, this.column] = [null, null];
    chooseKind(kind);
    this.kinds.querySelector(`[data-kind=${kind}]`).focus({ preventScroll: true });
  }

  drawNone() {
    const { answer, kind, layer, head } = state;
    const nearest = nearestHead(answer, kind, layer, head);
    this.noneSays.textContent = t(head === 'max' ? 'why_maximum' : 'why_average');
    this.nearest.textContent = t('why_nearest', { head: headName(nearest.layer, nearest.head) });
    this.nearest.onclick = () => {
      set(nearest);
      this.head.focus({ preventScroll: true });
    };
  }

  names() {
    const { answer, kind } = state;
    return [answer.rows(kind)[this.told.at], answer.columns(kind)[this.told.to]];
  }

  draw() {
    const { answer, kind } = state;
    const { row, at, to, sum, bias, query } = this.told;
    const [from, onto] = this.names();
    const name = (token) => make('b', {}, make('bdi', {}, token.label));
    const allowed = row.allowed[to];
    this.value.textContent = four(row.weights[to]);
    replace(this.looks, ...phrase(t(allowed ? 'why_looks' : 'why_looks_not'), { query: name(from), key: name(onto) }));
    const after = kind === 'encoder' ? [''] : phrase(t('why_after'), { token: name(answer.after(kind, at)) });
    const masked = from.key === onto.key ? 'why_masked_same' : 'why_masked';
    replace(this.note, ...(allowed ? after : phrase(t(masked), { query: name(from), key: name(onto) })));
    this.productTitle.textContent = t('why_product');
    replace(this.productSays, ...phrase(t('why_product_says', { width: query.length }), { query: name(from), key: name(onto) }));
    const score = row.scores[to];
    const biased = bias !== null;
    const divisor = this.told.scaled ? `√${query.length}` : '1';
    const parts = { sum: minus(sum), divisor, bias: biased ? minus(bias) : '', score: minus(score) };
    this.sum.textContent = t(biased ? 'why_sum_bias' : this.told.scaled ? 'why_sum' : 'why_sum_plain', parts);
    this.sumSays.textContent = this.told.scaled ? t(biased ? 'why_sum_bias_says' : 'why_sum_says') : '';
    this.chart.setAttribute('aria-label', t('why_picture', { width: query.length, score: minus(score) }));
    this.width = null;
    this.fit();
    this.numbers.textContent = t('why_numbers');
    this.region.setAttribute('aria-label', t('why_numbers'));
    this.drawNumbers();
    this.drawRow(from);
  }

  fit() {
    const width = this.chart.clientWidth;
    if (!width || width === this.width || !this.told) return;
    this.width = width;
    const { data, layout } = this.told.figure;
    this.plotly.react(this.chart, data, { ...layout, width: Math.min(width, Math.max(layout.width, 760)) }, QUIET);
  }

  /** The table behind the picture, made when somebody opens it. */
  drawNumbers() {
    if (!this.details.open || !this.told) return;
    const { query, key } = this.told;
    const row = (number, dimension) => {
      const cells = [number, key[dimension], number * key[dimension]].map((each) => make('td', { class: 'numeric' }, minus(each)));
      return make('tr', {}, make('th', { scope: 'row', class: 'numeric' }, dimension + 1), ...cells);
    };
    const names = ['why_dimension', 'figure_neurons_query', 'figure_neurons_key', 'figure_neurons_product'];
    replace(this.table, tableHead(names.map((each) => t(each))), make('tbody', {}, ...query.map(row)));
  }

  /** Every key of the row: its score, e to its power, its share. */
  drawRow(from) {
    const { answer, kind } = state;
    const { row } = this.told;
    const open = row.scores.filter((_, place) => row.allowed[place]);
    const largest = minus(Math.max(...open), 2);
    const reach = Math.max(...open.map(Math.abs), 1e-6);
    this.softmaxTitle.textContent = t('why_softmax');
    this.softmaxSays.textContent = t('why_softmax_says', { largest });
    this.scroll.setAttribute('aria-label', t('why_table', { query: from.label }));
    const names = [t('why_column_key'), row.bias && t('why_column_bias'), t('why_column_score'), t('why_column_power', { largest }), t('why_column_weight')];
    const rows = answer.columns(kind).map((token, place) => this.keyRow(token, place, reach));
    const total = make('tr', { class: 'total' }, make('th', { scope: 'row' }, t('why_total')), ...(row.bias ? [make('td', {})] : []), make('td', {}));
    total.append(cell(four(row.total)), cell(four(row.weights.reduce((all, each) => all + each, 0))));
    const focused = this.rows.contains(document.activeElement);
    replace(this.rows, tableHead(names.filter((each) => each !== null)), make('tbody', {}, ...rows), make('tfoot', {}, total));
    const chosen = this.rows.querySelector('[aria-pressed=true]');
    if (focused) chosen?.focus({ preventScroll: true });
    const line = chosen.closest('tr');
    if (line.offsetTop < this.scroll.scrollTop + 48 || line.offsetTop + 40 > this.scroll.scrollTop + this.scroll.clientHeight) this.scroll.scrollTop = line.offsetTop - this.scroll.clientHeight / 2;
    this.rows.classList.toggle('biased', Boolean(row.bias));
  }

  keyRow(token, place, reach) {
    const { row, to } = this.told;
    const chosen = place === to;
    const button = make('button', { type: 'button', 'aria-pressed': String(chosen), title: token.full ?? token.label, onclick: () => this.choose({ column: place }) }, make('bdi', {}, token.label));
    const line = make('tr', { class: `${chosen ? 'chosen' : ''} ${row.allowed[place] ? '' : 'masked'}` }, make('th', { scope: 'row' }, button));
    if (row.bias) line.append(cell(minus(row.bias[place])));
    const score = row.scores[place];
    if (!row.allowed[place]) {
      line.append(cell(minus(score)), make('td', { class: 'hatch' }, t('why_may_not')), cell(four(0)));
      return line;
    }
    const share = (50 * Math.abs(score)) / reach;
    const signed = make('i', { class: 'signed' }, make('i', { style: `${score < 0 ? 'right' : 'left'}:50%;width:${share}%` }));
    const weight = make('i', { class: 'share' }, make('i', { style: `width:${100 * Math.min(1, row.weights[place])}%` }));
    line.append(cell(minus(score), signed), cell(four(row.powers[place])), cell(four(row.weights[place]), weight));
    return line;
  }
}

const minus = (number, digits = 4) => number.toFixed(digits).replace('-', '−');
const place = (text) => (/^\d+$/.test(text) ? Number(text) : text);
const cell = (says, picture = null) => make('td', { class: 'numeric' }, picture, make('span', {}, says));
const tableHead = (names) => make('thead', {}, make('tr', {}, ...names.map((name) => make('th', { scope: 'col' }, name))));

/** The numbers to choose from; an average only while it is what one looks at. */
function fill(select, count, chosen) {
  const options = [...Array(count).keys()].map((number) => make('option', { value: number }, number + 1));
  if (typeof chosen !== 'number') options.push(make('option', { value: chosen }, t(`why_${chosen}`)));
  replace(select, ...options);
  select.value = chosen;
}

/** Tokens as radio buttons; NaN among the weights marks what may not be looked at. */
function drawStrip(element, tokens, chosen, weights = null) {
  const focused = element.contains(document.activeElement);
  element.classList.toggle('long', tokens.length > 44);
  const buttons = tokens.map((token, place) => {
    const classes = ['token', token.special && 'special', weights && weights[place] !== weights[place] && 'masked'];
    const about = { type: 'button', role: 'radio', 'aria-checked': String(place === chosen), tabindex: place === chosen ? 0 : -1 };
    return make('button', { ...about, class: classes.filter(Boolean).join(' '), data: { place } }, make('bdi', {}, token.label));
  });
  replace(element, ...buttons);
  const at = buttons[chosen];
  if (focused) at?.focus({ preventScroll: true });
  if (at && element.scrollHeight > element.clientHeight) element.scrollTop = at.offsetTop - element.clientHeight / 2;
}
