// Attribution methods as rows over the source words, with their agreement and their faithfulness to this word.

import { callWithRetry } from '../core/boot.js';
import { make, fillElements, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { cssColour, textColourOn, scaleColour } from '../core/theme.js';
import { signed, threeDecimals, twoDecimals } from '../core/map-view.js';
import { faultText, languageName, sentenceGap, t } from '../core/i18n.js';
import { getColumnClass } from '../parts/column-name.js';
import { AgreementTable } from './agreement.js';
import { ErasureCurves, area } from './erasure-curves.js';
import { completenessText, faithfulnessBar, faithfulnessText, methodGroups } from './faithfulness.js';

const SIGNED = new Set(['input_gradient', 'integrated', 'account', 'erasure']);
const NO_HEAD = { layer: null, head: null };

export class MethodTable {
  /** @param {import('../core/server.js').Server} server */
  constructor(server, config) {
    this.server = server;
    this.config = config;
    this.key = '';
    /** @type {any} */
    this.query = null; // arguments of the current request
    this.turn = 0;
    this.reset();
    this.title = make('h3', {});
    this.description = make('p', { class: 'says' });
    this.summary = make('p', { class: 'follows', 'aria-live': 'polite' });
    this.table = make('div', { class: 'methods' });
    this.scale = make('p', { class: 'quiet' });
    this.gap = make('p', { class: 'quiet gap' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.hideButton = make('button', { type: 'button', class: 'link', onclick: () => this.erase() });
    this.stopButton = make('button', { type: 'button', class: 'link', onclick: () => this.stop() });
    this.status = make('span', { class: 'quiet numeric', role: 'status' });
    this.agreement = new AgreementTable();
    this.curves = new ErasureCurves();
    this.faithTitle = make('h3', {});
    this.faithDescription = make('p', { class: 'says' });
    this.faithfulness = make('p', { class: 'follows' });
    const line = make('div', { class: 'more' }, this.hideButton, this.stopButton, this.status);
    this.element = make(
      'section',
      {},
      this.title,
      this.description,
      this.summary,
      this.table,
      this.scale,
      this.gap,
      this.agreement.element,
    );
    this.element.append(this.error, this.faithTitle, this.faithDescription, this.faithfulness, line, this.curves.element);
  }

  reset() {
    this.results = {}; // method → scores, order, agreement and time
    this.errors = {}; // method → error message
    this.curveData = {}; // method → erasure curve
    this.randomCurves = [];
    this.running = ''; // 'methods' or 'curves' while requests run
    this.highlighted = null; // name of a method
  }

  stop() {
    this.turn += 1;
    this.stopped = true; // cleared when another word is shown
    this.running = '';
    this.draw();
  }

  /** Shows the methods for an output word, and requests the missing ones. */
  show(translation, word) {
    const single = state.kind === 'cross' && typeof state.layer === 'number' && typeof state.head === 'number';
    const head = single ? { layer: state.layer, head: state.head } : {};
    const query = { request: translation.requestValues(), places: word.places, ...head };
    const key = JSON.stringify(query);
    this.word = word;
    if (key === this.key) {
      this.draw();
      if (!this.running && !this.stopped && this.missingMethods().length) this.measure();
      return;
    }
    const isSameRequest = this.query && JSON.stringify(this.query.request) === JSON.stringify(query.request);
    const isOtherWord = JSON.stringify({ ...query, ...NO_HEAD }) !== JSON.stringify({ ...this.query, ...NO_HEAD });
    [this.key, this.query] = [key, query];
    if (isOtherWord) {
      this.reset();
    } else {
      for (const table of [this.results, this.errors, this.curveData]) delete table.head; // depend on the head
    }
    this.stopped = false;
    if (!isSameRequest) {
      this.report = null;
      this.loadFaithfulness(query.request);
    }
    this.measure();
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
  async measure() {
    const turn = ++this.turn;
    this.running = 'methods';
    this.error.textContent = '';
    this.draw();
    for (const method of this.missingMethods()) {
      const knownScores = Object.fromEntries(Object.entries(this.results).map(([name, { scores }]) => [name, scores]));
      try {
        const answer = await callWithRetry(this.server.run_method, { ...this.query, method, known: knownScores });
        if (turn !== this.turn) return;
        this.results[method] = answer;
      } catch (error) {
        if (turn !== this.turn) return;
        this.errors[method] = faultText(error);
      }
      this.draw();
    }
    if (turn === this.turn) this.running = '';
    this.draw();
  }

  /** Measures the erasure curves: random orders first, then each method's order. */
  async erase() {
    const turn = ++this.turn;
    this.running = 'curves';
    this.draw();
    try {
      for (let chance = this.randomCurves.length; chance < this.config.chances; chance++) {
        const answer = await callWithRetry(this.server.hide_words, { ...this.query, chance });
        if (turn !== this.turn) return;
        this.randomCurves.push(answer.curve);
        this.draw();
      }
      for (const name of this.config.methods.filter((method) => this.results[method] && !this.curveData[method])) {
        const answer = await callWithRetry(this.server.hide_words, { ...this.query, order: this.results[name].order });
        if (turn !== this.turn) return;
        this.curveData[name] = answer.curve;
        this.draw();
      }
    } catch (error) {
      if (turn === this.turn) this.error.textContent = faultText(error);
    }
    if (turn === this.turn) this.running = '';
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
    const lines = this.groups().flatMap(({ name: group, methods }) => [
      group && make('p', { class: 'group quiet' }, t(group)),
      ...methods.map((method) => this.line(method, words)),
    ]);
    replace(this.table, this.heading(words), ...lines.filter(Boolean));
    if (focused) this.table.querySelector(`[data-method=${focused}]`)?.focus({ preventScroll: true });
    this.scale.textContent = t('word_scale');
    this.gap.textContent = completenessText(this.results.integrated?.gap);
    replace(this.summary, ...this.summaryText(words));
    this.agreement.draw(this.config.methods, this.results);
    this.drawFaithfulness();
  }

  groups() {
    return this.report ? methodGroups(this.config.methods, this.report.methods) : [{ name: '', methods: this.config.methods }];
  }

  heading(words) {
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

  line(method, words) {
    const result = this.results[method];
    const pick = () => {
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
        onclick: pick,
      },
      t(`method_${method}`),
    );
    const line = make('div', { class: 'method' }, button);
    if (!result) {
      const message = this.errors[method] ?? (this.running === 'methods' ? '…' : '');
      line.append(make('span', { class: 'waiting quiet' }, message), make('span', { class: 'cost' }));
    } else {
      line.append(this.cells(method, result, words), make('span', { class: 'cost numeric' }, milliseconds(result.ms)));
    }
    const curve = this.curveData[method];
    line.append(make('span', { class: 'area numeric' }, curve ? signed(area(curve, mean(this.randomCurves)), 2) : ''));
    line.append(this.report ? faithfulnessBar(this.report.methods, method) : make('span', {}));
    return line;
  }

  cells(method, { scores }, words) {
    const maxScore = Math.max(1e-12, ...scores.map((score) => Math.abs(score ?? 0)));
    const best = strongest(scores, words);
    const cells = scores.map((score, position) => {
      const classes = [score === null && 'none', position === best && 'best'].filter(Boolean).join(' ');
      const label =
        score === null ? t('word_not_hidden') : `${words[position].full}: ${SIGNED.has(method) ? signed(score, 3) : threeDecimals(score)}`;
      return make('i', { class: classes, title: label, style: score === null ? '' : fill(score / maxScore) });
    });
    const description = words.map(({ full }, index) => `${full} ${scores[index] === null ? '–' : twoDecimals(scores[index])}`).join(', ');
    return make('div', { class: 'cells', role: 'img', 'aria-label': `${t(`method_${method}`)}: ${description}` }, ...cells);
  }

  /** Summary sentence: how many methods agree, and whether raw attention does. */
  summaryText(words) {
    const done = this.config.methods.filter((method) => this.results[method]);
    if (done.length < this.config.methods.length && (this.running || done.length < 3))
      return [t('word_measuring', { done: done.length, all: this.config.methods.length })];
    const strongestWords = done.map((method) => strongest(this.results[method].scores, words));
    const counts = strongestWords.map((position) => strongestWords.filter((other) => other === position).length);
    const first = strongestWords[counts.indexOf(Math.max(...counts))];
    const word = (index) => make('b', {}, make('bdi', {}, words[index]?.label ?? ''));
    const parts = fillElements(t('word_follows', { count: Math.max(...counts), all: done.length }), { word: word(first) });
    const { average, erasure } = this.results;
    if (!average || !erasure) return parts;
    const [averageWord, erasureWord] = [average, erasure].map(({ scores }) => strongest(scores, words));
    const tau = erasure.agrees.average?.[0] ?? average.agrees.erasure?.[0] ?? null;
    if (tau === null) return parts; // a single word has no rank correlation
    const description = t(averageWord === erasureWord ? 'word_follows_same' : 'word_follows_other', { tau: signed(tau, 2) });
    return [...parts, ' ', ...fillElements(description, { raw: word(averageWord), hidden: word(erasureWord) })];
  }

  drawFaithfulness() {
    this.faithTitle.textContent = t('word_faith');
    this.faithDescription.textContent = t('word_faith_says');
    const done = this.config.methods.filter((method) => this.curveData[method]);
    const ready = this.config.methods.filter((method) => this.results[method]);
    this.hideButton.textContent = t('word_hide');
    this.hideButton.hidden =
      Boolean(this.running) || !ready.length || (done.length === ready.length && this.randomCurves.length === this.config.chances);
    this.stopButton.textContent = t('word_stop');
    this.stopButton.hidden = !this.running;
    const progress = { done: done.length + this.randomCurves.length, all: this.config.methods.length + this.config.chances };
    this.status.textContent = this.running === 'curves' ? t('word_hidden', progress) : '';
    this.faithfulness.textContent = this.report ? faithfulnessText(this.report) : t('word_no_report');
    this.curves.draw(this.randomCurves.length ? mean(this.randomCurves) : null, this.curveData, this.highlighted);
  }
}

/** Index of the word with the highest score; −1 if all words are special tokens or have no score. */
function strongest(scores, words) {
  const candidates = [...scores.keys()].filter((position) => scores[position] !== null && !words[position]?.special);
  return candidates.reduce((best, index) => (best < 0 || scores[index] > scores[best] ? index : best), -1);
}

function fill(share) {
  if (share < 0) return `background:color-mix(in srgb, var(--head-b) ${Math.round(-100 * share)}%, var(--tint))`;
  const colour = scaleColour(state.palette, share);
  return `background:${cssColour(colour)};color:${textColourOn(colour)}`;
}

const mean = (curves) => curves[0].map((_, index) => curves.reduce((sum, curve) => sum + curve[index], 0) / curves.length);
const milliseconds = (ms) => (ms < 1 ? '< 1 ms' : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
