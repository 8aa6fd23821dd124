// The Positions tab: every way to say where a token stands, the shown model's own first. One figure each, from Python;
// another dimension or head is a change of numbers that are here already.

import { call, loadPlotly } from '../core/boot.js';
import { make, replace } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, state } from '../core/state.js';
import { four, signed } from '../core/view.js';
import { faultSays, t } from '../core/words.js';
import { ramp } from '../parts/legend.js';
import { Block, numbersOf } from './block.js';

const [SHORTEST, LONGEST] = [2, 100]; // positions
const TALLEST = 440; // pixels of a map
const WAVE = 168;
const REST = 80; // milliseconds that the slider of positions rests before the server is asked
const KEPT = 40; // answers
// _{below} and ^{above}; BASE is the model's own.
const SCORE = 's_{ij} = q_{i} · k_{j} / √d';
const FORMULAS = {
  none: [SCORE],
  sinusoidal: ['PE(p, 2i + 1) = sin(p / 10000^{2i/d})', 'PE(p, 2i + 2) = cos(p / 10000^{2i/d})'],
  sinusoidal_halves: ['PE(p, i + 1) = sin(p / 10000^{2i/d})', 'PE(p, d/2 + i + 1) = cos(p / 10000^{2i/d})'],
  learned: ['x_{p} = E_{p} + T_{p}'],
  rotary: ['(a, b) → (a cos pθ_{i} − b sin pθ_{i}, a sin pθ_{i} + b cos pθ_{i})', 'θ_{i} = BASE^{−2i/d}'],
  alibi: [`${SCORE} − m_{h} |i − j|`, 'm_{h} = 2^{−8h/n}'],
  relative: [`${SCORE} + B_{h, b(j − i)}`],
};

export async function mount({ element, server }) {
  await ready;
  new Positions(element, server.encoding);
}

class Positions {
  constructor(root, ask) {
    Object.assign(this, { root, ask, encoding: null, length: null, chosen: 0, turn: 0, kept: new Map(), answer: null });
    this.build();
    on(['tab', 'answer', 'theme', 'language'], () => this.load());
    new ResizeObserver(() => this.resized()).observe(this.figures);
    this.load();
  }

  build() {
    const slider = (low, high) => make('input', { type: 'range', min: low, max: high, step: 1 });
    this.lead = make('p', { class: 'lead' });
    this.list = make('div', { class: 'encodings', role: 'radiogroup' });
    this.title = make('h2', {});
    this.own = make('span', { class: 'own' });
    this.says = make('p', { class: 'explains' });
    this.formula = make('div', { class: 'formula' });
    this.where = make('p', { class: 'quiet' });
    this.note = make('p', { class: 'says-so', role: 'status' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.lengthSlider = slider(SHORTEST, LONGEST);
    this.lengthName = make('span', {});
    this.lengthReading = make('output', { class: 'numeric' });
    this.follow = make('button', { type: 'button', class: 'link' });
    this.picker = slider(0, 1);
    this.pickerName = make('span', {});
    this.pickerReading = make('output', { class: 'numeric' });
    this.pickerLabel = make('label', { class: 'picker' }, this.pickerName, this.picker, this.pickerReading);
    this.first = new Block();
    this.second = new Block();
    this.wave = new Block();
    const length = make('label', { class: 'picker' }, this.lengthName, this.lengthSlider, this.lengthReading);
    this.controls = make('div', { class: 'controls' }, length, this.follow);
    this.figures = make('div', { class: 'figures' }, this.first.element, this.second.element, this.wave.element);
    const head = make('div', { class: 'headline' }, this.title, this.own);
    const told = make('div', { class: 'told' }, head, this.says, this.formula, this.where);
    this.detail = make('div', { class: 'detail' }, told, this.controls, this.note, this.error, this.figures);
    this.root.append(this.lead, make('div', { class: 'two' }, this.list, this.detail));
    this.listen();
  }

  listen() {
    this.list.addEventListener('click', (event) => {
      const button = event.target.closest('[data-encoding]');
      if (button) this.choose(button.dataset.encoding);
    });
    this.list.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step || !this.answer) return;
      event.preventDefault();
      event.stopPropagation();
      const { choices, encoding } = this.answer;
      this.choose(choices[(choices.indexOf(this.encoding ?? encoding) + step + choices.length) % choices.length]);
    });
    this.lengthSlider.addEventListener('input', () => {
      this.length = Number(this.lengthSlider.value);
      this.lengthReading.textContent = this.length;
      clearTimeout(this.resting);
      this.resting = setTimeout(() => this.load(), REST);
    });
    this.follow.addEventListener('click', () => {
      this.length = null;
      this.load();
    });
    this.picker.addEventListener('input', () => this.pick(Number(this.picker.value)));
  }

  // ---------------------------------------------------------------- asking

  choose(encoding) {
    this.encoding = encoding;
    this.load();
  }

  /** As long as the sentence, unless somebody chose. */
  positions() {
    return Math.min(LONGEST, Math.max(SHORTEST, this.length ?? state.answer.source.length));
  }

  async load() {
    if (state.tab !== 'positions' || !state.answer) return;
    const turn = ++this.turn;
    const { theme, language } = state;
    const model = state.answer.model.name;
    if (model !== this.model) this.encoding = null; // another model: its own encoding first
    this.model = model;
    const asked = { model, theme, language, length: this.positions(), ...(this.encoding && { encoding: this.encoding }) };
    const key = JSON.stringify(asked);
    this.root.setAttribute('aria-busy', 'true');
    try {
      const [answer, plotly] = await Promise.all([this.kept.get(key) ?? call(this.ask, asked), loadPlotly()]);
      if (this.kept.size >= KEPT) this.kept.delete(this.kept.keys().next().value);
      this.kept.set(key, answer);
      if (turn !== this.turn) return;
      this.plotly = plotly;
      this.error.textContent = '';
      this.draw(answer);
    } catch (error) {
      if (turn === this.turn) this.error.textContent = faultSays(error);
    }
    if (turn === this.turn) this.root.removeAttribute('aria-busy');
  }

  // ---------------------------------------------------------------- drawing

  draw(answer) {
    const { encoding, own, form } = answer;
    this.answer = answer;
    this.encoding = encoding;
    this.lead.textContent = t('positions_lead');
    this.title.textContent = t(`positions_name_${encoding}`);
    this.own.textContent = encoding === own ? t('positions_own', { model: this.model }) : '';
    this.says.textContent = t(`positions_says_${encoding}`) + (answer.beside ? ` ${t('positions_beside')}` : '');
    const like = encoding === 'sinusoidal_halves' ? 'sinusoidal' : encoding;
    replace(this.formula, ...FORMULAS[encoding].map((line) => make('div', {}, ...written(line.replace('BASE', answer.base)))));
    this.where.textContent = t(`positions_where_${like}`, answer);
    this.note.textContent = this.noteSays(form, answer);
    this.drawList(answer);
    this.drawControls(answer);
    this.figures.hidden = !answer.figure;
    this.controls.hidden = !answer.figure;
    this.width = this.figures.clientWidth;
    if (answer.figure) this.drawFigures(answer);
  }

  noteSays(form, { trained }) {
    if (form === 'nothing') return t('positions_nothing');
    if (form === 'untrained') return t('positions_untrained', { model: this.model });
    if (form === 'buckets') return t('positions_buckets_note', { model: this.model });
    return trained ? t('positions_trained', { model: this.model }) : '';
  }

  drawList({ choices, encoding, own }) {
    const focused = this.list.contains(document.activeElement);
    this.list.setAttribute('aria-label', t('positions_which'));
    const buttons = choices.map((name) => {
      const chosen = name === encoding;
      const about = { type: 'button', role: 'radio', 'aria-checked': String(chosen), tabindex: chosen ? 0 : -1, data: { encoding: name } };
      const mark = name === own ? make('i', {}, t('positions_own', { model: this.model })) : null;
      return make('button', about, make('b', {}, t(`positions_name_${name}`)), make('span', {}, t(`positions_short_${name}`)), mark);
    });
    replace(this.list, ...buttons);
    if (focused) this.list.querySelector('[aria-checked=true]').focus({ preventScroll: true });
  }

  drawControls(answer) {
    const count = state.answer.source.length;
    this.lengthName.textContent = t('positions_length');
    this.lengthSlider.value = answer.length;
    this.lengthReading.textContent = answer.length;
    this.follow.textContent = t('positions_as_sentence', { count });
    this.follow.hidden = this.length === null;
    this.pickerName.textContent = t(this.byHead() ? 'positions_pick_head' : 'positions_pick_dimension');
  }

  byHead() {
    return this.answer.form === 'bias';
  }

  /** The table with its products and one wave; or one head's bias with all heads by distance. */
  drawFigures(answer) {
    const { data, layout } = answer.figure;
    const map = numbersOf(data[0].z);
    const table = data[1].type === 'heatmap';
    this.map = map;
    const count = table ? map.columns : data.length - 1;
    this.chosen = Math.min(this.chosen, count - 1);
    Object.assign(this.picker, { min: 0, max: count - 1, value: this.chosen });
    this.pickerLabel.hidden = count < 2;
    (table ? this.wave : this.second).head.append(this.pickerLabel);
    this.wave.element.hidden = !table;
    const { form } = answer;
    if (table) {
      this.first.name(t(`positions_map_${form}`), t(`positions_map_${form}_says`));
      this.second.name(t('positions_products'), t(form === 'turns' ? 'positions_products_turns_says' : 'positions_products_says'));
    } else {
      if (form === 'buckets') this.first.name(t('positions_map_buckets'), t('positions_map_buckets_says'));
      this.second.name(t('positions_distance'), '');
    }
    this.first.element.classList.toggle('picks', table);
    if (table) this.showMap(this.second, data[1], layout.xaxis2, { title: layout.xaxis2.title });
    this.showChosen();
    this.first.plot.removeAllListeners?.('plotly_click');
    if (table) this.first.plot.on('plotly_click', ({ points }) => this.pick(points[0].x - 1));
  }

  pick(number) {
    this.chosen = number;
    this.picker.value = number;
    this.showChosen();
  }

  /** What depends on the dimension or head. */
  showChosen() {
    const { figure, periods, form } = this.answer;
    const { data, layout } = figure;
    const number = this.chosen;
    this.pickerReading.textContent = number + 1; // people count from one
    this.picker.setAttribute('aria-valuetext', number + 1);
    if (data[1].type === 'heatmap') {
      const column = Array.from({ length: this.map.rows }, (_, row) => this.map.values[row * this.map.columns + number]);
      this.showMap(this.first, data[0], layout.xaxis, layout.yaxis, number);
      const period = periods?.[number];
      const says = period ? t('positions_wave_period', { period: readable(period) }) : t('positions_wave_says');
      this.wave.name(t('positions_wave', { number: number + 1 }), says);
      const mode = column.length <= 40 ? 'lines+markers' : 'lines'; // few positions: nothing lies between them
      const wave = { ...data[2], y: column, mode, marker: { size: 5 }, xaxis: 'x', yaxis: 'y' };
      this.show(this.wave, [wave], { xaxis: { title: layout.xaxis3.title }, yaxis: { nticks: 5, zeroline: true }, height: WAVE });
      this.wave.table(t('positions_numbers'), [layout.xaxis3.title.text, this.wave.title.textContent], column.map((value, row) => [row, four(value)]));
      return;
    }
    const lines = data.slice(1).map((line, head) => this.line(line, head));
    if (form === 'bias') {
      this.first.name(t('positions_map_bias', { number: number + 1 }), t('positions_map_bias_says'));
      this.second.name(t('positions_distance'), t('positions_distance_says', { number: number + 1 }));
    } else {
      this.second.name(t('positions_distance'), t('positions_distance_buckets_says'));
    }
    this.showMap(this.first, { ...data[0], ...spread(data[number + 1], this.map.rows) }, layout.xaxis, layout.yaxis);
    replace(this.second.legend);
    this.show(this.second, lines, { xaxis: { title: layout.xaxis3.title }, yaxis: { nticks: 6 }, height: this.tall() });
    const [distances, values] = [numbersOf(data[1].x).values, data.slice(1).map((line) => numbersOf(line.y).values)];
    const heads = values.length > 1 ? values.map((_, head) => t('positions_pick_head_number', { number: head + 1 })) : [t('positions_map_buckets')];
    const written = (value) => (form === 'buckets' ? value : signed(value, 4));
    const rows = Array.from(distances, (distance, place) => [distance, ...values.map((each) => written(each[place]))]);
    this.second.table(t('positions_numbers'), [layout.xaxis3.title.text, ...heads], rows);
  }

  line(line, head) {
    const strong = head === this.chosen;
    const steps = this.answer.form === 'buckets' ? { mode: 'lines+markers', marker: { size: 5 } } : {};
    const shape = steps.mode && { shape: 'hvh' }; // nothing lies between two distances
    return { ...line, ...steps, xaxis: 'x', yaxis: 'y', opacity: strong ? 1 : 0.45, line: { ...line.line, ...shape, width: strong && !shape ? 3 : 1.5 } };
  }

  tall() {
    return Math.min(TALLEST, Math.max(240, this.first.element.clientWidth - 8));
  }

  /** A heatmap with its legend; `marked`: the column in question. */
  showMap(block, trace, xaxis, yaxis, marked = null) {
    const { rows, columns, values } = numbersOf(trace.z);
    const bucket = this.answer.form === 'buckets';
    const written = (number) => (bucket ? String(number) : number.toFixed(Math.abs(number) >= 100 ? 0 : 2).replace('-', '−'));
    const ends = [written(bucket ? 0 : trace.zmin), written(trace.zmax)];
    const shown = bucket ? { ...trace, zmin: -trace.zmax } : trace;
    const line = { color: getComputedStyle(document.body).getPropertyValue('--accent'), width: 1.5 };
    const first = trace.x0 ?? 0;
    const shapes = marked === null ? [] : [{ type: 'rect', x0: first + marked - 0.5, x1: first + marked + 0.5, y0: -0.5, y1: rows - 0.5, line }];
    const title = (axis) => ({ title: axis.title, nticks: 8 });
    const layout = { xaxis: title(xaxis), yaxis: { ...title(yaxis), autorange: 'reversed' }, height: this.tall(), shapes };
    this.show(block, [{ ...shown, xaxis: 'x', yaxis: 'y' }], layout);
    replace(block.legend, bucket ? null : ramp(trace.zmin < 0 ? 'difference' : 'headlight', ...ends));
    block.picture.setAttribute('aria-label', t('positions_alt_map', { name: block.title.textContent, rows, columns, low: ends[0], high: ends[1] }));
    const head = ['', ...Array.from({ length: columns }, (_, column) => first + column)];
    block.table(t('positions_numbers'), head, () => Array.from({ length: rows }, (_, row) => [row, ...Array.from(values.subarray(row * columns, (row + 1) * columns), (value) => (bucket ? value : four(value)))]));
  }

  show(block, traces, layout) {
    const { template } = this.answer.figure.layout;
    const about = { template, showlegend: false, dragmode: false, autosize: true, margin: { l: 52, r: 8, t: 8, b: 44 }, hovermode: 'closest' };
    const fixed = (axis) => ({ ...axis, fixedrange: true });
    this.plotly.react(block.plot, traces, { ...about, ...layout, xaxis: fixed(layout.xaxis), yaxis: fixed(layout.yaxis) }, { displayModeBar: false, responsive: true });
    block.picture.setAttribute('aria-label', `${block.title.textContent}. ${block.says.textContent}`);
  }

  resized() {
    if (state.tab !== 'positions' || !this.answer?.figure || this.width === this.figures.clientWidth) return;
    this.width = this.figures.clientWidth;
    this.drawFigures(this.answer);
  }
}

/** A number for each distance, over all queries and keys. */
function spread(line, positions) {
  const { values } = numbersOf(line.y);
  const z = Array.from({ length: positions }, (_, query) => Array.from({ length: positions }, (_, key) => values[key - query + positions - 1]));
  const most = Math.max(1e-6, ...Array.from(values, Math.abs));
  return { z, zmin: -most, zmax: most };
}

const readable = (number) => (number < 100 ? number.toFixed(1) : Math.round(number).toLocaleString(state.language));

/** Text with its sub- and superscripts. */
function written(text) {
  return text.split(/([_^]\{[^}]*\})/).filter(Boolean).map((part) => {
    if (!/^[_^]\{/.test(part)) return part;
    return make(part[0] === '_' ? 'sub' : 'sup', {}, part.slice(2, -1));
  });
}
