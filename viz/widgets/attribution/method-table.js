// Attribution methods as rows over the source words, with their agreement and their faithfulness to this word.

import { callWithRetry } from '../core/boot.js';
import { make, fillElements, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { cssColour, textColourOn, scaleColour } from '../core/theme.js';
import { signed, threeDecimals, twoDecimals } from '../core/map-view.js';
import { faultText, languageName, sentenceGap, t } from '../core/i18n.js';
import { getColumnClass } from '../parts/column-name.js';
import { AgreementTable } from './agreement.js';
import { ErasureCurves, areaBetween } from './erasure-curves.js';
import { completenessText, faithfulnessBar, faithfulnessText, methodGroups } from './faithfulness.js';

const SIGNED_METHODS = new Set(['input_gradient', 'integrated', 'account', 'erasure']); // scores may be negative
const NO_HEAD = { layer: null, head: null };

export class MethodTable {
  /** @param {import('../core/server.js').Server} server */
  constructor(server, config) {
    this.server = server;
    this.config = config;
    this.key = ''; // of `query`
    /** @type {any} */
    this.query = null; // arguments of the current request
    this.generation = 0; // incremented to discard responses of older requests
    this.reset();
    this.title = make('h3', {});
    this.description = make('p', { class: 'says' });
    this.summary = make('p', { class: 'follows', 'aria-live': 'polite' });
    this.table = make('div', { class: 'methods' });
    this.scale = make('p', { class: 'quiet' });
    this.gap = make('p', { class: 'quiet gap' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.hideButton = make('button', { type: 'button', class: 'link', onclick: () => this.measureCurves() });
    this.stopButton = make('button', { type: 'button', class: 'link', onclick: () => this.stop() });
    this.status = make('span', { class: 'quiet numeric', role: 'status' });
    this.agreement = new AgreementTable();
    this.curves = new ErasureCurves();
    this.faithTitle = make('h3', {});
    this.faithDescription = make('p', { class: 'says' });
    this.faithfulness = make('p', { class: 'follows' });
    const buttons = make('div', { class: 'more' }, this.hideButton, this.stopButton, this.status);
    const scores = [this.summary, this.table, this.scale, this.gap, this.agreement.element];
    this.element = make('section', {}, this.title, this.description, ...scores);
    this.element.append(this.error, this.faithTitle, this.faithDescription, this.faithfulness, buttons, this.curves.element);
  }

  reset() {
    this.results = {}; // method → scores, order, agreement and time
    this.errors = {}; // method → error message
    this.curveData = {}; // method → erasure curve
    this.randomCurves = [];
    this.running = ''; // 'methods' or 'curves' while requests run
    this.highlighted = null; // name of a method
  }

  /** Discards pending responses; the methods stay stopped until another word is shown. */
  stop() {
    this.generation += 1;
    this.stopped = true; // cleared when another word is shown
    this.running = '';
    this.draw();
  }

  /** Shows the methods for an output word, and requests the missing ones. */
  show(translation, word) {
    const isCrossHead = state.kind === 'cross' && typeof state.layer === 'number' && typeof state.head === 'number';
    const head = isCrossHead ? { layer: state.layer, head: state.head } : {}; // for the method of a single head
    const query = { request: translation.requestValues(), places: word.places, ...head };
    const key = JSON.stringify(query);
    this.word = word;
    if (key === this.key) {
      this.draw();
      if (!this.running && !this.stopped && this.missingMethods().length) this.runMethods();
      return;
    }
    const isSameRequest = this.query && JSON.stringify(this.query.request) === JSON.stringify(query.request);
    const hasNewWord = JSON.stringify({ ...query, ...NO_HEAD }) !== JSON.stringify({ ...this.query, ...NO_HEAD });
    [this.key, this.query] = [key, query];
    if (hasNewWord) {
      this.reset();
    } else {
      for (const table of [this.results, this.errors, this.curveData]) delete table.head; // depend on the head
    }
    this.stopped = false;
    if (!isSameRequest) {
      this.report = null;
      this.loadFaithfulness(query.request);
    }
    this.runMethods();
  }

  missingMethods() {
    return this.config.methods.filter((name) => !this.results[name] && !this.errors[name]);
  }

  /** Loads the model's faithfulness report, measured on many sentences. */
  async loadFaithfulness(request) {
    try {
      const { report } = await callWithRetry(this.server.faithfulness_report, { request });
      if (request === this.query.request) this.report = report;
      this.draw();
    } catch (error) {
      if (!error.fault) console.warn(error);
    }
  }

  /** Runs the methods one by one; stops if another tab or word is selected. */
  async runMethods() {
    const generation = ++this.generation;
    this.running = 'methods';
    this.error.textContent = '';
    this.draw();
    for (const method of this.missingMethods()) {
      const knownScores = Object.fromEntries(Object.entries(this.results).map(([name, { scores }]) => [name, scores]));
      try {
        const answer = await callWithRetry(this.server.run_method, { ...this.query, method, known: knownScores });
        if (generation !== this.generation) return;
        this.results[method] = answer;
      } catch (error) {
        if (generation !== this.generation) return;
        this.errors[method] = faultText(error);
      }
      this.draw();
    }
    if (generation === this.generation) this.running = '';
    this.draw();
  }

  /** Measures the erasure curves: random orders first, then each method's order. */
  async measureCurves() {
    const generation = ++this.generation;
    this.running = 'curves';
    this.draw();
    try {
      for (let chance = this.randomCurves.length; chance < this.config.chances; chance++) {
        const answer = await callWithRetry(this.server.hide_words, { ...this.query, chance });
        if (generation !== this.generation) return;
        this.randomCurves.push(answer.curve);
        this.draw();
      }
      for (const name of this.config.methods.filter((method) => this.results[method] && !this.curveData[method])) {
        const answer = await callWithRetry(this.server.hide_words, { ...this.query, order: this.results[name].order });
        if (generation !== this.generation) return;
        this.curveData[name] = answer.curve;
        this.draw();
      }
    } catch (error) {
      if (generation === this.generation) this.error.textContent = faultText(error);
    }
    if (generation === this.generation) this.running = '';
    this.draw();
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    if (!this.word) return;
    const name = make('b', {}, make('bdi', {}, this.word.label));
    const language = languageName(state.translation.model.source);
    replace(this.title, ...fillElements(t('word_beside', { language }), { word: name }));
    this.description.textContent = [t('word_beside_says'), this.report ? t('word_beside_measured', { count: this.report.sentences }) : '']
      .filter(Boolean)
      .join(sentenceGap());
    const words = Object.values(this.results)[0]?.words ?? [];
    const focused = this.table.contains(document.activeElement) ? document.activeElement?.getAttribute('data-method') : null;
    const rows = this.groupMethods().flatMap(({ name: group, methods }) => [
      group && make('p', { class: 'group quiet' }, t(group)),
      ...methods.map((method) => this.drawRow(method, words)),
    ]);
    replace(this.table, this.drawHeader(words), ...rows.filter(Boolean));
    if (focused) this.table.querySelector(`[data-method=${focused}]`)?.focus({ preventScroll: true });
    this.scale.textContent = t('word_scale');
    this.gap.textContent = completenessText(this.results.integrated?.gap);
    replace(this.summary, ...this.summaryElements(words));
    this.agreement.draw(this.config.methods, this.results);
    this.drawFaithfulness();
  }

  /** {name, methods} per group. Without a report the only group has no name. */
  groupMethods() {
    return this.report ? methodGroups(this.config.methods, this.report.methods) : [{ name: '', methods: this.config.methods }];
  }

  drawHeader(words) {
    const labels = words.map(({ label, full, special }) =>
      make('span', { class: `${getColumnClass(label)}${special ? ' special' : ''}`, title: full }, make('bdi', {}, label)),
    );
    return make(
      'div',
      { class: 'method heads' },
      make('span', { class: 'name' }),
      make('div', { class: 'cells' }, ...labels),
      make('span', { class: 'cost quiet' }, t('word_cost')),
      make('span', { class: 'area quiet' }, this.randomCurves.length ? t('word_area') : ''),
      make('span', { class: 'area quiet' }, this.report ? t('word_faithful') : ''),
    );
  }

  drawRow(method, words) {
    const result = this.results[method];
    const onclick = () => {
      this.highlighted = this.highlighted === method ? null : method;
      this.draw();
    };
    const button = make(
      'button',
      {
        type: 'button',
        class: 'name',
        data: { method },
        title: t(`method_${method}_says`),
        'aria-pressed': String(this.highlighted === method),
        onclick,
      },
      t(`method_${method}`),
    );
    const row = make('div', { class: 'method' }, button);
    if (!result) {
      const message = this.errors[method] ?? (this.running === 'methods' ? '…' : '');
      row.append(make('span', { class: 'waiting quiet' }, message), make('span', { class: 'cost' }));
    } else {
      row.append(this.drawCells(method, result, words), make('span', { class: 'cost numeric' }, formatDuration(result.ms)));
    }
    const curve = this.curveData[method];
    row.append(make('span', { class: 'area numeric' }, curve ? signed(areaBetween(curve, meanCurve(this.randomCurves)), 2) : ''));
    row.append(this.report ? faithfulnessBar(this.report.methods, method) : make('span', {}));
    return row;
  }

  /** `scores`: per word; null for words that the method cannot score. */
  drawCells(method, { scores }, words) {
    const maxScore = Math.max(1e-12, ...scores.map((score) => Math.abs(score ?? 0)));
    const best = findStrongestWord(scores, words);
    const cells = scores.map((score, wordIndex) => {
      const classes = [score === null && 'none', wordIndex === best && 'best'].filter(Boolean).join(' ');
      const label =
        score === null
          ? t('word_not_hidden')
          : `${words[wordIndex].full}: ${SIGNED_METHODS.has(method) ? signed(score, 3) : threeDecimals(score)}`;
      return make('i', { class: classes, title: label, style: score === null ? '' : cellStyle(score / maxScore) });
    });
    const description = words.map(({ full }, index) => `${full} ${scores[index] === null ? '–' : twoDecimals(scores[index])}`).join(', ');
    return make('div', { class: 'cells', role: 'img', 'aria-label': `${t(`method_${method}`)}: ${description}` }, ...cells);
  }

  /** Summary as text and elements: how many methods agree on the strongest word, and whether raw attention does. */
  summaryElements(words) {
    const done = this.config.methods.filter((method) => this.results[method]);
    if (done.length < this.config.methods.length && (this.running || done.length < 3))
      return [t('word_measuring', { done: done.length, all: this.config.methods.length })];
    const strongestWords = done.map((method) => findStrongestWord(this.results[method].scores, words));
    const counts = strongestWords.map((wordIndex) => strongestWords.filter((other) => other === wordIndex).length);
    const mostFrequent = strongestWords[counts.indexOf(Math.max(...counts))];
    const word = (index) => make('b', {}, make('bdi', {}, words[index]?.label ?? ''));
    const agreement = fillElements(t('word_follows', { count: Math.max(...counts), all: done.length }), { word: word(mostFrequent) });
    const { average, erasure } = this.results;
    if (!average || !erasure) return agreement;
    const [averageWord, erasureWord] = [average, erasure].map(({ scores }) => findStrongestWord(scores, words));
    const tau = erasure.agrees.average?.[0] ?? average.agrees.erasure?.[0] ?? null;
    if (tau === null) return agreement; // a single word has no rank correlation
    const description = t(averageWord === erasureWord ? 'word_follows_same' : 'word_follows_other', { tau: signed(tau, 2) });
    return [...agreement, ' ', ...fillElements(description, { raw: word(averageWord), hidden: word(erasureWord) })];
  }

  drawFaithfulness() {
    this.faithTitle.textContent = t('word_faith');
    this.faithDescription.textContent = t('word_faith_says');
    const methodsWithCurve = this.config.methods.filter((method) => this.curveData[method]);
    const methodsWithScores = this.config.methods.filter((method) => this.results[method]);
    this.hideButton.textContent = t('word_hide');
    const isComplete = methodsWithCurve.length === methodsWithScores.length && this.randomCurves.length === this.config.chances;
    this.hideButton.hidden = Boolean(this.running) || !methodsWithScores.length || isComplete;
    this.stopButton.textContent = t('word_stop');
    this.stopButton.hidden = !this.running;
    const progress = { done: methodsWithCurve.length + this.randomCurves.length, all: this.config.methods.length + this.config.chances };
    this.status.textContent = this.running === 'curves' ? t('word_hidden', progress) : '';
    this.faithfulness.textContent = this.report ? faithfulnessText(this.report) : t('word_no_report');
    this.curves.draw(this.randomCurves.length ? meanCurve(this.randomCurves) : null, this.curveData, this.highlighted);
  }
}

/** Index of the word with the highest score; −1 if all words are special tokens or have no score. */
function findStrongestWord(scores, words) {
  const candidates = [...scores.keys()].filter((index) => scores[index] !== null && !words[index]?.special);
  return candidates.reduce((best, index) => (best < 0 || scores[index] > scores[best] ? index : best), -1);
}

/** CSS of a cell. `fraction`: signed, of the largest score. */
function cellStyle(fraction) {
  if (fraction < 0) return `background:color-mix(in srgb, var(--head-b) ${Math.round(-100 * fraction)}%, var(--tint))`;
  const colour = scaleColour(state.palette, fraction);
  return `background:${cssColour(colour)};color:${textColourOn(colour)}`;
}

const meanCurve = (curves) => curves[0].map((_, index) => curves.reduce((sum, curve) => sum + curve[index], 0) / curves.length);
const formatDuration = (ms) => (ms < 1 ? '< 1 ms' : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
