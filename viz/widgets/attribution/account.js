// "Why sleeping and not asleep?": a word's lead over a rival, in nats, as a waterfall chart of contributions. Each source
// word, each previous target word and the model's biases has a bar. On a phone the chart is a list.

import { axes, formatEffect, threeDecimals, twoDecimals } from '../core/map-view.js';
import { callWithRetry } from '../core/boot.js';
import { fillElements, isNarrow, make, replace, svg } from '../core/dom.js';
import { LatestRequest } from '../core/latest-request.js';
import { state } from '../core/state.js';
import { getChosenRival } from '../core/written-word.js';
import { languageName, sentenceGap, t } from '../core/i18n.js';
import { RivalChoice } from '../parts/rival-choice.js';
import { AccountHeads } from './account-heads.js';
import { partRows } from './part-rows.js';
import { roundParts } from '../core/rounding.js';

const [HEIGHT, LABEL_HEIGHT, TOP] = [190, 74, 18]; // pixels: height of the chart, of the labels below it, and of the numbers above it
const GROUP_GAP = 0.8; // gap between two groups, as a fraction of a bar's slot
const MIN_NUMBER_WIDTH = 34; // pixels; narrower slots show only large numbers
const LARGE_NUMBER = 0.3; // nats
const LETTER_WIDTH = 7; // pixels; labels that are wider than a slot are rotated
const MIN_PROBABILITY = 0.0005; // smaller probabilities round to 0.000

/** Formats a probability with two decimals, or three if it is below 0.1, as for most rivals. */
export function formatProbability(probability) {
  if (probability > 0 && probability < MIN_PROBABILITY) return '< 0.001';
  return (probability < 0.1 ? threeDecimals : twoDecimals)(probability);
}

/**
 * Sums of token values per word, as {label, value, special}: `words` of the source, and `previousWords` of the target.
 * `source`: a value per source token; `prefix`: a value per decoder input token, the start token first;
 * `tokenIndex`: position of the explained target token.
 */
export function sumByWord(translation, { source, prefix }, tokenIndex) {
  const items = (axis) => axes(translation, 'cross', { words: true, special: true })[axis];
  const total = (values, positions) => positions.reduce((sum, position) => sum + values[position], 0);
  const words = items('columns').map(({ label, places, special }) => ({ label, special, value: total(source, places) }));
  const start = { label: translation.previousToken('cross', 0).label, special: true, value: prefix[0] };
  const previousWords = items('rows')
    .map(({ label, places, special }) => ({ label, special, places: places.filter((position) => position < tokenIndex) }))
    .filter(({ places }) => places.length)
    .map(({ label, special, places }) => ({ label, special, value: total(prefix.slice(1), places) }));
  return { words, previousWords: [start, ...previousWords] };
}

export class Account {
  /** @param {import('../core/server.js').Server} server */
  constructor(server) {
    this.server = server;
    /** @type {any} */
    this.word = null;
    this.position = -1;
    /** @type {any} */
    this.translation = null;
    /** @type {any} */
    this.answer = null; // the server's contributions for the translation and the position
    this.title = make('h2', { class: 'view-title' });
    this.rivals = new RivalChoice(server, formatProbability);
    this.sentence = make('p', { class: 'says' });
    this.sums = make('div', { class: 'sums numeric' });
    this.chart = make('div', { class: 'staircase' });
    this.note = make('p', { class: 'quiet' });
    this.error = make('p', { class: 'error', role: 'alert' });
    const header = make('div', { class: 'account-head' }, this.title, this.rivals.element);
    this.heads = new AccountHeads(server);
    this.content = make('div', {}, this.sentence, this.sums, this.chart, this.heads.element, this.note);
    this.element = make('section', { class: 'account' }, header, this.error, this.content);
    this.latest = new LatestRequest(this.content, this.error, 'error_our_fault');
    new ResizeObserver(() => this.answer && this.drawChart()).observe(this.chart);
  }

  /** Shows the contributions to a word's first token, with which the model decides on the whole word. */
  show(translation, word) {
    const position = word.places[0];
    if (translation !== this.translation || position !== this.position) this.answer = null;
    [this.translation, this.word, this.position] = [translation, word, position];
    const rival = getChosenRival(state, position)?.id ?? null; // null: the most probable other token
    const query = { request: translation.requestValues(), place: position, rival };
    this.latest.load(
      JSON.stringify(query),
      (signal) => callWithRetry(this.server.account_word, query, null, null, signal),
      (answer) => {
        this.answer = answer;
        this.draw();
      },
    );
    if (this.answer)
      this.draw(); // the language may have changed
    else {
      const label = make('b', {}, make('bdi', { lang: translation.model.target || null }, word.label));
      replace(this.title, ...fillElements(t('word_title'), { word: label }));
      for (const part of [this.sums, this.chart, this.note]) replace(part);
      this.rivals.draw(translation, position, { rival: null, name: t('account_instead') });
      this.sentence.textContent = t('account_loading');
      this.heads.hide();
    }
  }

  draw() {
    const { answer, translation } = this;
    const name = (label) => make('bdi', { lang: translation.model.target || null }, label);
    const names = () => ({ word: make('b', {}, name(answer.word)), rival: make('b', { class: 'rival' }, name(answer.rival.label)) });
    replace(this.title, ...fillElements(t('account_title'), names()));
    this.rivals.draw(translation, this.position, { rival: this.rivalWithProbability(), name: t('account_instead') });
    this.groups = this.groupContributions();
    replace(this.sentence, ...fillElements(this.probabilityText(), names()), ...this.groupSides(names));
    this.note.textContent = t('account_note');
    const query = { request: translation.requestValues(), place: this.position, rival: answer.rival.id };
    this.heads.show(translation, query, answer.word);
    this.drawChart();
  }

  /** The rival with its probability. If it is not listed, the probability follows from the lead, a difference of log probabilities. */
  rivalWithProbability() {
    const { probability, rival, lead, rivals } = this.answer;
    const listed = rivals.find(({ id }) => id === rival.id);
    return { ...rival, probability: listed?.probability ?? probability * Math.exp(-lead) };
  }

  probabilityText() {
    return t('account_chances', {
      own: formatProbability(this.answer.probability),
      other: formatProbability(this.rivalWithProbability().probability),
    });
  }

  /** Elements that say whether the source and the target words favour the word or the rival. Biases belong to no word. */
  groupSides(names) {
    const groups = this.groups.slice(0, 2);
    return ['word', 'rival'].flatMap((side) => {
      const groupsOfSide = groups.filter(({ sum }) => (side === 'rival') === sum < 0);
      if (!groupsOfSide.length) return [];
      const parts = groupsOfSide.map(({ key }) => t(`${key}_part`, this.languages())).join(t('list_comma'));
      return [sentenceGap(), ...fillElements(t(`account_for_${side}`, { parts }), names())];
    });
  }

  languages() {
    return { language: languageName(this.translation.model.source) };
  }

  /**
   * Groups of the chart: source words, target words, biases and the lead. A group {key, bars, sum} has bars
   * {label, value, special?, constant?, total?} with rounded values that add up.
   */
  groupContributions() {
    const { answer, translation } = this;
    const { words, previousWords } = sumByWord(translation, answer, this.position);
    const contributions = [...words, ...previousWords, { label: t('account_bias'), value: answer.constants, constant: true }];
    const rounded = roundParts(contributions.map(({ value }) => value));
    const bars = contributions.map((contribution, index) => ({ ...contribution, value: rounded[index] }));
    const sum = (list) => list.reduce((total, { value }) => total + value, 0);
    const group = (key, list) => ({ key, bars: list, sum: sum(list) });
    return [
      group('account_source', bars.slice(0, words.length)),
      group('account_written', bars.slice(words.length, -1)),
      group('account_biases', bars.slice(-1)),
      { key: 'account_lead', bars: [{ label: t('account_lead'), value: sum(bars), total: true }], sum: sum(bars) },
    ];
  }

  drawChart() {
    const sums = this.groups.map(({ key, sum }, index) =>
      make(
        'div',
        { class: index === 2 ? 'constant' : sum < 0 ? 'against' : 'for', style: `flex-grow:${this.groups[index].bars.length}` },
        make('span', {}, t(key, this.languages())),
        make('b', {}, index === 3 ? make('i', {}, '= ') : '', formatEffect(sum)),
      ),
    );
    replace(this.sums, ...sums);
    if (isNarrow()) this.drawList();
    else this.drawWaterfall();
  }

  /** One row per word, for narrow windows. */
  drawList() {
    const bars = this.groups.flatMap((group) => group.bars);
    replace(this.chart, make('div', { class: 'account-rows' }, ...partRows(bars)));
  }

  /** A waterfall chart: each bar starts at the sum of the bars before it, and the last one shows the total. */
  drawWaterfall() {
    const width = this.chart.clientWidth;
    if (!width) return;
    const slotCount = this.groups.reduce((total, { bars }) => total + bars.length, 0) + GROUP_GAP * (this.groups.length - 1);
    const slotWidth = width / slotCount;
    let [sum, x] = [0, 0];
    const positionedBars = this.groups.flatMap(({ bars }) => {
      const groupBars = bars.map((bar) => {
        const start = bar.total ? 0 : sum;
        if (!bar.total) sum += bar.value;
        const positionedBar = { ...bar, start, end: bar.total ? bar.value : sum, x };
        x += slotWidth;
        return positionedBar;
      });
      x += GROUP_GAP * slotWidth;
      return groupBars;
    });
    const ends = [0, ...positionedBars.flatMap(({ start, end }) => [start, end])];
    const [yMin, yMax] = [Math.min(...ends), Math.max(...ends)];
    const y = (value) => TOP + ((yMax - value) / Math.max(yMax - yMin, 1e-9)) * (HEIGHT - 2 * TOP);
    const isRotated = Math.max(...positionedBars.map(({ label }) => label.length)) * LETTER_WIDTH > slotWidth;
    const marks = positionedBars.flatMap((bar, index) => this.drawBar(bar, slotWidth, y, { next: positionedBars[index + 1], isRotated }));
    const axis = svg('line', { class: 'axis', x1: 0, x2: width, y1: y(0), y2: y(0) });
    const label = this.groups.map(({ key, sum }) => `${t(key, this.languages())} ${formatEffect(sum)}`).join(t('list_comma'));
    replace(this.chart, svg('svg', { width, height: HEIGHT + LABEL_HEIGHT, role: 'img', 'aria-label': label }, axis, ...marks));
  }

  /** SVG elements of a bar: its rectangle, the line to the `next` bar, its number and its label. `y` maps a value to pixels. */
  drawBar({ label, value, start, end, x, constant, total, special }, slotWidth, y, { next, isRotated }) {
    const [topEdge, height] = [y(Math.max(start, end)), Math.max(1.5, Math.abs(y(start) - y(end)))];
    const margin = 0.18 * slotWidth;
    const [left, width, middle] = [x + margin, slotWidth - 2 * margin, x + slotWidth / 2];
    const side = constant ? 'constant' : value < 0 ? 'against' : 'for';
    const name = { class: special || constant || total ? 'name special' : 'name', y: HEIGHT + 14, x: middle };
    const rotation = isRotated ? { transform: `rotate(-90 ${middle} ${HEIGHT + 4})`, 'text-anchor': 'end', y: HEIGHT + 8 } : {};
    const number = { class: 'number', x: middle, y: value < 0 ? topEdge + height + 12 : topEdge - 5, 'text-anchor': 'middle' };
    return [
      svg('rect', { class: side, x: left, y: topEdge, width, height }),
      next && !next.total ? svg('line', { class: 'joint', x1: left + width, x2: next.x + margin, y1: y(end), y2: y(end) }) : null,
      slotWidth < MIN_NUMBER_WIDTH && Math.abs(value) < LARGE_NUMBER ? null : svg('text', number, formatEffect(value)),
      svg('text', { 'text-anchor': 'middle', ...name, ...rotation }, label),
    ].filter(Boolean);
  }
}
