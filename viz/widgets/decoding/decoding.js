// The Decoding tab: the search tree to walk through, what it finished, and how sure the model was of each token.

import { call, loadPlotly } from '../core/boot.js';
import { fadeEdges, icon, make, replace, touch } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { four, three } from '../core/view.js';
import { faultSays, t } from '../core/words.js';
import { SearchTree } from './tree.js';

const QUIET = { displayModeBar: false, responsive: false };
const WIDEST = 1280; // pixels of the bars with what stands beside them
const LEAST = 200; // pixels of the bars alone
const STRETCH = 1.5; // of the tree, where there is room

export async function mount({ element, server }) {
  await ready;
  new Decoding(element, server);
}

class Decoding {
  constructor(root, server) {
    Object.assign(this, { root, server, turn: 0, shown: '' });
    this.build();
    on(['tab', 'answer', 'language', 'theme'], () => this.update());
    on(['busy'], () => root.classList.toggle('busy', state.busy));
    new ResizeObserver(() => this.resized()).observe(this.chances);
    this.update();
  }

  build() {
    const round = (step, path) => make('button', { type: 'button', class: 'round', onclick: () => this.goStep(step) }, icon(18, [path], { width: 1.6 }));
    const section = (name, ...inside) => {
      this[`${name}Title`] = make('h2', {});
      this[`${name}Says`] = make('p', { class: 'says' });
      return make('section', { class: name }, this[`${name}Title`], this[`${name}Says`], ...inside);
    };
    this.error = make('p', { class: 'error', role: 'alert' });
    this.reads = make('p', { class: 'reads', dir: 'auto' });
    this.about = make('p', { class: 'about numeric' });
    this.open = make('button', { type: 'button', class: 'link', onclick: () => this.openNode(this.node) });
    this.readout = make('div', { class: 'readout' }, make('div', { 'aria-live': 'polite' }, this.reads, this.about), this.open);
    this.tree = make('div', { class: 'tree', tabindex: 0, role: 'application' });
    this.tree.addEventListener('keydown', (event) => this.key(event));
    this.fade = fadeEdges(this.tree);
    this.keys = make('p', { class: 'tree-keys' });
    this.previous = round(-1, 'M11 4L6 9l5 5');
    this.next = round(1, 'M7 4l5 5-5 5');
    this.steps = make('table', {});
    this.list = make('ol', {});
    this.note = make('p', { class: 'sub-note' });
    this.chances = make('div', { class: 'chart', 'aria-hidden': 'true' });
    this.table = make('table', {});
    this.numbers = make('summary', {});
    const step = section('step', this.steps);
    step.prepend(make('div', { class: 'turn' }, this.previous, this.next, this.stepTitle));
    this.search = section('search', this.readout, this.tree, this.keys);
    this.pair = make('div', { class: 'pair' }, step, section('finished', this.list, this.note));
    this.single = make('p', { class: 'single' });
    this.offer = make('button', { type: 'button', class: 'go', onclick: () => this.offered() });
    this.none = make('div', { class: 'none', hidden: true }, this.single, this.offer);
    this.search.insertBefore(this.none, this.readout);
    const details = make('details', {}, this.numbers, make('div', { class: 'scrolls', tabindex: 0, role: 'region' }, this.table));
    this.root.append(this.error, this.search, this.pair, section('sure', this.chances, details));
    this.region = details.lastElementChild;
  }

  // ---------------------------------------------------------------- asking

  /** The request whose search is shown: of a translation that was opened from a tree, the one of that tree. */
  origin() {
    const asked = state.answer.asked();
    const kept = this.searched;
    return Array.isArray(asked.target) && kept && kept.text === asked.text && kept.model === asked.model ? kept : asked;
  }

  async update() {
    if (state.tab !== 'decoding' || !state.answer) return;
    const look = { theme: state.theme, language: state.language };
    const [origin, asked] = [this.origin(), state.answer.asked()];
    const wanted = JSON.stringify([origin, asked, look]);
    if (wanted === this.shown) return;
    this.shown = wanted;
    const turn = ++this.turn;
    this.root.classList.add('waits');
    if (!this.drawn) {
      this.searchTitle.textContent = t('decoding_search');
      this.searchSays.textContent = t('decoding_loading');
    }
    try {
      const ask = (server, request) => call(server, { request, ...look });
      const [tree, sure] = await Promise.all([ask(this.server.draw_search, origin), ask(this.server.draw_chances, asked)]);
      const plotly = await loadPlotly();
      if (turn !== this.turn) return;
      this.error.textContent = '';
      this.draw(plotly, origin, tree, sure);
    } catch (error) {
      if (turn !== this.turn) return;
      this.shown = '';
      this.error.textContent = faultSays(error, 'decoding_failed');
      if (!error.fault) console.warn(error);
    } finally {
      if (turn === this.turn) this.root.classList.remove('waits');
    }
  }

  request(more) {
    dispatchEvent(new CustomEvent('headlight-request', { detail: { ...this.asked, prefix: null, target: null, ...more } }));
  }

  /** A node's path as a translation of its own, with all its attention, in the Heads tab. */
  openNode(node) {
    this.openIds(this.searchTree.ids(node));
  }

  openIds(ids) {
    this.searched = this.asked;
    if (ids.join() !== state.answer.target.map((token) => token.id).join()) this.request({ target: ids });
    set({ tab: 'heads' });
    document.querySelector('.tabs [aria-selected=true]')?.focus();
  }

  offered() {
    const usual = state.usualRequest ?? {};
    this.searched = null;
    this.request(this.given ? {} : { beam_size: usual.beam_size, temperature: 0, prefix: this.asked.prefix });
  }

  // ---------------------------------------------------------------- drawing

  draw(plotly, asked, tree, sure) {
    this.plotly = plotly;
    const same = JSON.stringify(this.asked) === JSON.stringify(asked);
    Object.assign(this, { asked, drawn: tree });
    this.given = asked.target !== null;
    this.searchTree = new SearchTree(tree.nodes);
    const any = tree.nodes.length > 0;
    this.none.hidden = any;
    for (const element of [this.readout, this.tree, this.keys, this.pair, this.searchSays]) element.hidden = !any;
    this.searchTitle.textContent = t('decoding_search');
    if (any) {
      this.searchSays.textContent = t('decoding_search_says', { beam: tree.beam });
      const steps = this.searchTree.steps.length;
      this.tree.setAttribute('aria-label', t('decoding_tree', { nodes: tree.nodes.length, steps }));
      this.drawKeys();
      this.drawFinished();
      this.drawTree(same);
    } else {
      this.plotly.purge(this.tree);
      this.drawNone();
    }
    this.drawSure(sure.figure);
  }

  drawNone() {
    const beam = state.usualRequest?.beam_size ?? 1;
    this.single.textContent = t(this.given ? 'decoding_given' : this.drawn.samples ? 'decoding_sampled' : 'decoding_greedy');
    this.offer.textContent = t(this.given ? 'decoding_back' : 'decoding_try_beam', { beam });
    this.offer.hidden = !this.given && beam < 2;
  }

  drawKeys() {
    const key = (letters, says) => make('span', {}, make('kbd', {}, letters.join(' ')), ` ${t(says)}`);
    const heads = document.getElementById('panel-heads');
    replace(this.keys, key(['←', '→'], 'decoding_key_path'), key(['↑', '↓'], 'decoding_key_step'), heads && key(['Enter'], 'decoding_key_open'));
    this.keys.hidden = touch();
    this.open.hidden = !heads;
  }

  async drawTree(same) {
    const { data, layout } = this.drawn.figure;
    const places = new Map();
    for (const trace of data) trace.customdata?.forEach((node, place) => places.set(node, [trace.x[place], trace.y[place]]));
    this.places = places;
    const ink = getComputedStyle(this.root).getPropertyValue('--ink').trim();
    const path = { mode: 'lines', x: [], y: [], line: { color: ink, width: 2 }, hoverinfo: 'skip', showlegend: false };
    const ring = { mode: 'markers', x: [], y: [], marker: { symbol: 'circle-open', size: 11, color: ink, line: { width: 2 } }, hoverinfo: 'skip', showlegend: false, cliponaxis: false };
    const width = Math.max(layout.width, Math.min(this.tree.clientWidth, layout.width * STRETCH));
    const lines = data.filter((trace) => trace.mode === 'lines');
    const nodes = data.filter((trace) => trace.mode !== 'lines');
    this.marks = [lines.length, data.length + 1]; // the path runs below the words, the ring stands above all
    await this.plotly.react(this.tree, [...lines, path, ...nodes, ring], { ...layout, width }, QUIET);
    this.fade();
    if (!this.listening) this.tree.on('plotly_click', ({ points }) => points[0]?.customdata !== undefined && this.choose(points[0].customdata));
    this.listening = true;
    const best = this.drawn.finished[0];
    const first = best === undefined ? 0 : this.searchTree.path(best)[0];
    this.choose(same && this.node < this.drawn.nodes.length ? this.node : first);
  }

  /** Another node: its ring, its path, what it says, and the candidates beside it. */
  choose(node) {
    this.node = node;
    const path = this.searchTree.path(node).map((each) => this.places.get(each));
    const last = path.at(-1);
    const [x, y] = [0, 1].map((axis) => path.map((place) => place[axis]));
    this.plotly.restyle(this.tree, { x: [x, [last[0]]], y: [y, [last[1]]] }, this.marks);
    this.show(last[0]);
    const { text, kept, label } = this.searchTree.reads(node);
    replace(this.reads, ...tokenIn(text, kept, label));
    const { log_probability, score, reason } = this.searchTree.about(node);
    const numbers = `${t('decoding_log_probability')} ${minus(log_probability)} · ${t('decoding_score')} ${minus(score)}`;
    const says = t(`decoding_reason_${reason}`, { beam: this.drawn.beam });
    replace(this.about, make('span', { class: 'nowrap' }, numbers), ' ', make('span', {}, says));
    this.open.textContent = t('decoding_open');
    this.drawStep();
  }

  /** The chosen node is in sight, without moving the page. */
  show(step) {
    const axis = this.tree._fullLayout?.xaxis;
    if (!axis) return;
    const at = axis._offset + axis.d2p(step);
    const { scrollLeft, clientWidth } = this.tree;
    if (at < scrollLeft + 64 || at > scrollLeft + clientWidth - 64) this.tree.scrollLeft = at - clientWidth / 2;
  }

  drawStep() {
    const { step } = this.searchTree.about(this.node);
    const steps = this.searchTree.steps;
    this.stepTitle.textContent = t('decoding_step', { step: step + 1, steps: steps.length });
    this.stepSays.textContent = t('decoding_step_says');
    for (const [button, name, end] of [[this.previous, 'decoding_previous_step', 0], [this.next, 'decoding_next_step', steps.length - 1]]) {
      button.setAttribute('aria-label', t(name));
      button.disabled = step === end;
    }
    const focused = this.steps.contains(document.activeElement);
    const rows = steps[step].map((node) => this.stepRow(node));
    replace(this.steps, tableHead('decoding_candidate', 'decoding_log_probability', 'decoding_score', 'decoding_fate'), make('tbody', {}, ...rows));
    this.pair.style.setProperty('--rows', Math.max(...steps.map((nodes) => nodes.length)));
    if (focused) this.steps.querySelector('[aria-pressed=true]')?.focus({ preventScroll: true });
  }

  stepRow(node) {
    const { text, kept, label } = this.searchTree.reads(node);
    const { log_probability, score, fate } = this.searchTree.about(node);
    const name = make('bdi', {}, ...tokenIn(text, kept, label, 18));
    const button = make('button', { type: 'button', 'aria-pressed': String(node === this.node), title: text, onclick: () => this.choose(node) }, name);
    const cell = (says) => make('td', { class: 'numeric' }, says);
    return make('tr', { class: `${fate}${node === this.node ? ' chosen' : ''}` }, make('th', { scope: 'row' }, button), cell(minus(log_probability)), cell(minus(score)), make('td', {}, t(`decoding_fate_${fate}`)));
  }

  drawFinished() {
    this.finishedTitle.textContent = t('decoding_finished');
    const penalty = this.asked.length_penalty;
    this.finishedSays.textContent = t(`decoding_score_${{ 0: 'plain', 1: 'even' }[penalty] ?? 'penalty'}`, { penalty });
    this.note.textContent = t('decoding_sum_note');
    const heads = document.getElementById('panel-heads');
    const shown = state.answer.target.map((token) => token.id).join();
    const rows = this.drawn.finished.map((node, rank) => {
      const { text } = this.searchTree.reads(node);
      const { log_probability, score } = this.searchTree.about(node);
      const tags = [rank === 0 && 'decoding_chosen', this.searchTree.ids(node).join() === shown && state.answer.request.target && 'decoding_opened'];
      const numbers = `${t('decoding_score')} ${minus(score)} · ${t('decoding_log_probability')} ${minus(log_probability)}`;
      const said = tags.filter(Boolean).map((tag) => ` · ${t(tag)}`).join('');
      const open = make('button', { type: 'button', class: 'link', 'aria-label': t('decoding_open_named', { text }), onclick: () => this.openNode(node) }, t('decoding_open'));
      const reads = make('button', { type: 'button', class: 'reads', dir: 'auto', lang: state.answer.model.target, onclick: () => this.choose(node) }, text);
      return make('li', {}, reads, make('p', {}, make('span', { class: 'numeric' }, numbers), said, heads ? ' ' : null, heads && open));
    });
    replace(this.list, ...rows);
  }

  drawSure(figure) {
    this.sureTitle.textContent = t('decoding_chances');
    this.numbers.textContent = t('decoding_numbers');
    this.region.setAttribute('aria-label', t('decoding_chances'));
    this.sureFigure = figure;
    this.fitSure();
    const rows = state.answer.target.map((token) => {
      const others = (token.alternatives ?? []).filter(([, id]) => id !== token.id);
      const cells = others.slice(0, 3).map(([text, , probability]) => make('span', {}, make('bdi', {}, text.trim() || '␣'), ` ${three(probability)}`));
      const name = make('th', { scope: 'row' }, make('bdi', {}, token.full ?? token.label));
      return make('tr', {}, name, make('td', { class: 'numeric' }, four(token.probability)), make('td', { class: 'numeric others' }, ...cells));
    });
    replace(this.table, tableHead('decoding_token', 'decoding_probability', 'decoding_others'), make('tbody', {}, ...rows));
  }

  /** As wide as there is room, with as many of the others as fit beside the bars; all of them are in the numbers below. */
  fitSure() {
    if (!this.sureFigure || !this.plotly) return;
    const { data, layout } = this.sureFigure;
    const width = Math.min(this.chances.clientWidth, WIDEST);
    const beside = ({ x, xref }) => xref === 'paper' && x === 1;
    const columns = [...new Set(layout.annotations.filter(beside).map(({ xshift }) => xshift))].sort((one, other) => one - other);
    const wide = columns.length > 1 ? columns[1] - columns[0] : 0;
    const fitting = columns.filter((left) => left + wide <= width - layout.margin.l - LEAST);
    this.sureSays.textContent = t(fitting.length ? 'decoding_chances_says' : 'decoding_chances_tight');
    const annotations = layout.annotations.filter((each) => !beside(each) || fitting.includes(each.xshift));
    const margin = { ...layout.margin, r: fitting.length ? fitting.at(-1) + wide : 16 };
    this.plotly.react(this.chances, data, { ...layout, width, annotations, margin }, QUIET);
  }

  resized() {
    const width = this.chances.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    this.fitSure();
  }

  // ---------------------------------------------------------------- walking

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { searchTree: tree, node } = this;
    const [best] = this.drawn.finished;
    const go = {
      ArrowLeft: () => tree.parent(node),
      ArrowRight: () => tree.child(node, best),
      ArrowUp: () => tree.beside(node, -1),
      ArrowDown: () => tree.beside(node, 1),
      Home: () => tree.path(node)[0],
      End: () => best,
    }[event.key];
    if (event.key === 'Enter' && !this.open.hidden) this.openNode(node);
    else if (go) this.choose(go() ?? node);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  goStep(step) {
    const { searchTree: tree, node } = this;
    const [best] = this.drawn.finished;
    this.choose((step > 0 ? tree.child(node, best) : tree.parent(node)) ?? tree.steps[tree.about(node).step + step][0]);
  }
}

const minus = (number) => four(number).replace('-', '−');

/** Text with the part that the last token added made bold; of a long one, its end. */
function tokenIn(text, kept, label, most = Infinity) {
  const added = text.slice(kept).trim() ? text.slice(kept) : '';
  const before = text.slice(0, text.length - added.length);
  const cut = before.length > most ? `…${before.slice(-most)}` : before;
  return [cut, make('b', {}, added || ` ${label}`)];
}

function tableHead(...names) {
  return make('thead', {}, make('tr', {}, ...names.map((name) => make('th', { scope: 'col' }, t(name)))));
}
