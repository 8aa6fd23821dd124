// The figures of an encoding: its table, the dot products of all positions and one dimension's wave; or one head's bias and
// the biases of all heads by distance. Selecting a dimension or head needs no request.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { fourDecimals, signed } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { FigureBlock, toNumbers } from './figure-block.js';
import { drawMap, drawPlot } from './plots.js';

// Heights in pixels.
const MIN_MAP_HEIGHT = 240;
const MAX_MAP_HEIGHT = 440;
const WAVE_HEIGHT = 168;
const MAX_MARKED_POSITIONS = 40; // waves of more positions have no markers

export class EncodingFigures {
  constructor() {
    this.selected = 0; // index of the selected dimension or head
    this.first = new FigureBlock();
    this.second = new FigureBlock();
    this.wave = new FigureBlock();
    this.picker = make('input', { type: 'range', min: 0, max: 1, step: 1 });
    this.picker.addEventListener('input', () => this.pick(Number(this.picker.value)));
    this.name = make('span', {});
    this.selectedText = make('output', { class: 'numeric' });
    this.label = make('label', { class: 'picker' }, this.name, this.picker, this.selectedText);
    this.element = make('div', { class: 'figures' }, this.first.element, this.second.element, this.wave.element);
    new ResizeObserver(() => this.onResize()).observe(this.element);
  }

  /** Draws the figures of an answer. Answers for some encodings have none. */
  draw(plotly, answer) {
    this.plotly = plotly;
    this.answer = answer;
    this.element.hidden = !answer.figure;
    this.width = this.element.clientWidth;
    if (answer.figure) this.drawBlocks();
  }

  onResize() {
    if (state.tab !== 'positions' || !this.answer?.figure || this.width === this.element.clientWidth) return;
    this.width = this.element.clientWidth;
    this.drawBlocks();
  }

  drawBlocks() {
    const { form, figure } = this.answer;
    const { data, layout } = figure;
    const isTable = data[1].type === 'heatmap';
    this.map = toNumbers(data[0].z);
    const count = isTable ? this.map.columns : data.length - 1;
    this.selected = Math.min(this.selected, count - 1);
    Object.assign(this.picker, { min: 0, max: count - 1, value: this.selected });
    this.name.textContent = t(form === 'bias' ? 'positions_pick_head' : 'positions_pick_dimension');
    this.label.hidden = count < 2;
    (isTable ? this.wave : this.second).head.append(this.label);
    this.wave.element.hidden = !isTable;
    if (isTable) {
      this.first.setTexts(t(`positions_map_${form}`), t(`positions_map_${form}_says`));
      this.second.setTexts(t('positions_products'), t(form === 'turns' ? 'positions_products_turns_says' : 'positions_products_says'));
    } else {
      if (form === 'buckets') this.first.setTexts(t('positions_map_buckets'), t('positions_map_buckets_says'));
      this.second.setTexts(t('positions_distance'), '');
    }
    this.first.element.classList.toggle('picks', isTable);
    if (isTable) this.showMap(this.second, data[1], layout.xaxis2, { title: layout.xaxis2.title });
    this.showSelected();
    this.first.plot.removeAllListeners?.('plotly_click');
    if (isTable) this.first.plot.on('plotly_click', ({ points }) => this.pick(points[0].x));
  }

  pick(number) {
    this.selected = number;
    this.picker.value = number;
    this.showSelected();
  }

  /** Updates the parts that depend on the selected dimension or head. */
  showSelected() {
    const isTable = this.answer.figure.data[1].type === 'heatmap';
    const number = isTable ? this.selected : this.selected + 1; // dimensions count from 0, as in the formula, heads from 1
    this.selectedText.textContent = number;
    this.picker.setAttribute('aria-valuetext', number);
    if (isTable) this.showWave(this.selected);
    else this.showDistances(this.selected);
  }

  /** Frames a dimension's column in the table and draws its wave. */
  showWave(number) {
    const { figure, periods } = this.answer;
    const { data, layout } = figure;
    const { rows, columns, values } = this.map;
    const column = Array.from({ length: rows }, (_, row) => values[row * columns + number]);
    this.showMap(this.first, data[0], layout.xaxis, layout.yaxis, number);
    const period = periods?.[number];
    const caption = period ? t('positions_wave_period', { period: formatPeriod(period) }) : t('positions_wave_says');
    this.wave.setTexts(t('positions_wave', { number }), caption);
    const wave = {
      ...data[2],
      y: column,
      mode: column.length <= MAX_MARKED_POSITIONS ? 'lines+markers' : 'lines',
      marker: { size: 5 },
      xaxis: 'x',
      yaxis: 'y',
    };
    this.show(this.wave, [wave], { xaxis: { title: layout.xaxis3.title }, yaxis: { nticks: 5, zeroline: true }, height: WAVE_HEIGHT });
    const head = [layout.xaxis3.title.text, this.wave.title.textContent];
    this.wave.table(
      t('positions_numbers'),
      head,
      column.map((value, row) => [row, fourDecimals(value)]),
    );
  }

  /** Draws a head's bias as a map, and the biases of all heads by distance. */
  showDistances(number) {
    const { figure, form } = this.answer;
    const { data, layout } = figure;
    const [pairs, ...heads] = data;
    if (form === 'bias') {
      this.first.setTexts(t('positions_map_bias', { number: number + 1 }), t('positions_map_bias_says'));
      this.second.setTexts(t('positions_distance'), t('positions_distance_says', { number: number + 1 }));
    } else {
      this.second.setTexts(t('positions_distance'), t('positions_distance_buckets_says'));
    }
    this.showMap(this.first, { ...pairs, ...expandToMap(heads[number], this.map.rows) }, layout.xaxis, layout.yaxis);
    replace(this.second.legend);
    const lines = heads.map((line, head) => styleLine(line, head === number, form === 'buckets'));
    this.show(this.second, lines, { xaxis: { title: layout.xaxis3.title }, yaxis: { nticks: 6 }, height: this.mapHeight() });
    this.listDistances(heads, layout.xaxis3.title.text);
  }

  listDistances(heads, title) {
    const [distances, values] = [toNumbers(heads[0].x).values, heads.map((line) => toNumbers(line.y).values)];
    const names =
      heads.length > 1 ? heads.map((_, head) => t('positions_pick_head_number', { number: head + 1 })) : [t('positions_map_buckets')];
    const formatValue = (value) => (this.answer.form === 'buckets' ? value : signed(value, 4));
    const rows = Array.from(distances, (distance, index) => [distance, ...values.map((headValues) => formatValue(headValues[index]))]);
    this.second.table(t('positions_numbers'), [title, ...names], rows);
  }

  /** Height of a map: the width of the first block, within bounds. */
  mapHeight() {
    return Math.min(MAX_MAP_HEIGHT, Math.max(MIN_MAP_HEIGHT, this.first.element.clientWidth - 8));
  }

  /** `column`: column to frame, or null. */
  showMap(block, trace, xaxis, yaxis, column = null) {
    const { template } = this.answer.figure.layout;
    const options = { xaxis, yaxis, column, template, height: this.mapHeight(), buckets: this.answer.form === 'buckets' };
    drawMap(this.plotly, block, trace, options);
  }

  show(block, traces, layout) {
    drawPlot(this.plotly, block, traces, { template: this.answer.figure.layout.template, ...layout });
  }
}

/** Expands one value per distance to a map of all queries and keys. */
function expandToMap(line, positions) {
  const { values } = toNumbers(line.y);
  const z = Array.from({ length: positions }, (_, query) =>
    Array.from({ length: positions }, (_, key) => values[key - query + positions - 1]),
  );
  const maxAbs = Math.max(1e-6, ...Array.from(values, Math.abs));
  return { z, zmin: -maxAbs, zmax: maxAbs };
}

/** The line of one head by distance; that of the selected head is emphasised. Buckets are drawn as steps. */
function styleLine(line, isSelected, buckets) {
  const steps = buckets ? { mode: 'lines+markers', marker: { size: 5 } } : {};
  const lineStyle = { ...line.line, ...(buckets ? { shape: 'hvh' } : {}), width: isSelected && !buckets ? 3 : 1.5 };
  return { ...line, ...steps, xaxis: 'x', yaxis: 'y', opacity: isSelected ? 1 : 0.45, line: lineStyle };
}

const formatPeriod = (number) => (number < 100 ? number.toFixed(1) : Math.round(number).toLocaleString(state.language));
