// "Why sleeping and not asleep?": the lead of a word over a rival as a waterfall chart of the contributions of each source
// word, each previous target word, and the model's biases. On a phone it is a list.

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
const GAP = 0.8; // empty steps between two groups
const NUMBER_WIDTH = 34; // pixels; narrower steps show only large numbers
const LETTER_WIDTH = 7; // pixels; labels that are wider than a step are rotated

const MIN_PROBABILITY = 0.0005; // smaller probabilities round to 0.000

/** Formats a probability with two decimals, or three if it is below 0.1, as for most rivals. */
export function formatProbability(probability) {
  if (probability > 0 && probability < MIN_PROBABILITY) return '< 0.001';
  return (probability < 0.1 ? threeDecimals : twoDecimals)(probability);
}

/** The sums of token values per word: {label, value, special}. */
export function wordParts(translation, { source, prefix }, index) {
  const items = (axis) => axes(translation, 'cross', { words: true, special: true })[axis];
  const total = (values, positions) => positions.reduce((sum, position) => sum + values[position], 0);
  const words = items('columns').map(({ label, places, special }) => ({ label, special, value: total(source, places) }));
  const start = { label: translation.previousToken('cross', 0).label, special: true, value: prefix[0] };
  const before = items('rows')
    .map(({ label, places, special }) => ({ label, special, places: places.filter((position) => position < index) }))
    .filter(({ places }) => places.length)
    .map(({ label, special, places }) => ({ label, special, value: total(prefix.slice(1), places) }));
  return { words, before: [start, ...before] };
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
    this.answer = null; // the server's answer for the translation and the position
    this.title = make('h2', { class: 'view-title' });
    this.rivals = new RivalChoice(server, formatProbability);
    this.sentence = make('p', { class: 'says' });
    this.sums = make('div', { class: 'sums numeric' });
    this.picture = make('div', { class: 'staircase' });
    this.note = make('p', { class: 'quiet' });
    this.error = make('p', { class: 'error', role: 'alert' });
    const head = make('div', { class: 'account-head' }, this.title, this.rivals.element);
    this.heads = new AccountHeads(server);
    this.content = make('div', {}, this.sentence, this.sums, this.picture, this.heads.element, this.note);
    this.element = make('section', { class: 'account' }, head, this.error, this.content);
    this.latest = new LatestRequest(this.content, this.error, 'error_our_fault');
    new ResizeObserver(() => this.answer && this.drawPicture()).observe(this.picture);
  }

  /** Shows the account of a word's first token, with which the model decides on the whole word. */
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
      for (const part of [this.sums, this.picture, this.note]) replace(part);
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
    this.groups = this.makeGroups();
    replace(this.sentence, ...fillElements(this.probabilityText(), names()), ...this.groupSides(names));
    this.note.textContent = t('account_note');
    const query = { request: translation.requestValues(), place: this.position, rival: answer.rival.id };
    this.heads.show(translation, query, answer.word);
    this.drawPicture();
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

  /** Groups of the chart: source words, target words, biases and the lead, with rounded values that add up. */
  makeGroups() {
    const { answer, translation } = this;
    const { words, before } = wordParts(translation, answer, this.position);
    const parts = [...words, ...before, { label: t('account_bias'), value: answer.constants, constant: true }];
    const rounded = roundParts(parts.map(({ value }) => value));
    const steps = parts.map((part, index) => ({ ...part, value: rounded[index] }));
    const sum = (list) => list.reduce((all, { value }) => all + value, 0);
    const group = (key, list) => ({ key, steps: list, sum: sum(list) });
    return [
      group('account_source', steps.slice(0, words.length)),
      group('account_written', steps.slice(words.length, -1)),
      group('account_biases', steps.slice(-1)),
      { key: 'account_lead', steps: [{ label: t('account_lead'), value: sum(steps), total: true }], sum: sum(steps) },
    ];
  }

  drawPicture() {
    const sums = this.groups.map(({ key, sum }, index) =>
      make(
        'div',
        { class: index === 2 ? 'constant' : sum < 0 ? 'against' : 'for', style: `flex-grow:${this.groups[index].steps.length}` },
        make('span', {}, t(key, this.languages())),
        make('b', {}, index === 3 ? make('i', {}, '= ') : '', formatEffect(sum)),
      ),
    );
    replace(this.sums, ...sums);
    if (isNarrow()) this.drawList();
    else this.drawStaircase();
  }

  /** One row per word, for narrow windows. */
  drawList() {
    const steps = this.groups.flatMap((group) => group.steps);
    replace(this.picture, make('div', { class: 'account-rows' }, ...partRows(steps)));
  }

  drawStaircase() {
    const width = this.picture.clientWidth;
    if (!width) return;
    const count = this.groups.reduce((all, { steps }) => all + steps.length, 0) + GAP * (this.groups.length - 1);
    const step = width / count;
    let [level, x] = [0, 0];
    const positionedSteps = this.groups.flatMap(({ steps }) => {
      const groupBars = steps.map((part) => {
        const from = part.total ? 0 : level;
        if (!part.total) level += part.value;
        const bar = { ...part, from, to: part.total ? part.value : level, x };
        x += step;
        return bar;
      });
      x += GAP * step;
      return groupBars;
    });
    const levels = [0, ...positionedSteps.flatMap(({ from, to }) => [from, to])];
    const [low, high] = [Math.min(...levels), Math.max(...levels)];
    const y = (value) => TOP + ((high - value) / Math.max(high - low, 1e-9)) * (HEIGHT - 2 * TOP);
    const isRotated = Math.max(...positionedSteps.map(({ label }) => label.length)) * LETTER_WIDTH > step;
    const bars = positionedSteps.flatMap((part, index) => this.bar(part, step, y, { next: positionedSteps[index + 1], isRotated }));
    const axis = svg('line', { class: 'axis', x1: 0, x2: width, y1: y(0), y2: y(0) });
    const label = this.groups.map(({ key, sum }) => `${t(key, this.languages())} ${formatEffect(sum)}`).join(t('list_comma'));
    replace(this.picture, svg('svg', { width, height: HEIGHT + LABEL_HEIGHT, role: 'img', 'aria-label': label }, axis, ...bars));
  }

  bar({ label, value, from, to, x, constant, total, special }, step, y, { next, isRotated }) {
    const [topEdge, height] = [y(Math.max(from, to)), Math.max(1.5, Math.abs(y(from) - y(to)))];
    const [left, width, middle] = [x + 0.18 * step, 0.64 * step, x + step / 2];
    const side = constant ? 'constant' : value < 0 ? 'against' : 'for';
    const name = { class: special || constant || total ? 'name special' : 'name', y: HEIGHT + 14, x: middle };
    const angle = isRotated ? { transform: `rotate(-90 ${middle} ${HEIGHT + 4})`, 'text-anchor': 'end', y: HEIGHT + 8 } : {};
    const number = { class: 'number', x: middle, y: value < 0 ? topEdge + height + 12 : topEdge - 5, 'text-anchor': 'middle' };
    return [
      svg('rect', { class: side, x: left, y: topEdge, width, height }),
      next && !next.total ? svg('line', { class: 'joint', x1: left + width, x2: next.x + 0.18 * step, y1: y(to), y2: y(to) }) : null,
      step < NUMBER_WIDTH && Math.abs(value) < 0.3 ? null : svg('text', number, formatEffect(value)),
      svg('text', { 'text-anchor': 'middle', ...name, ...angle }, label),
    ].filter(Boolean);
  }
}
