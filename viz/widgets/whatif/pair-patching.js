// Activation patching of a minimal pair: finds the states and heads of the first sentence that restore its word when they
// are copied into the second sentence's run.

import { callWithRetry } from '../core/boot.js';
import { fillElements, make, replace } from '../core/dom.js';
import { formatSigned } from '../core/map-view.js';
import { KINDS } from '../core/translation.js';
import { cssColour, scaleColour, textColourOn } from '../core/theme.js';
import { t } from '../core/i18n.js';
import { HeadBars, headName } from './head-bars.js';
import { interventions } from './interventions.js';
import { MAX_SECONDS, Measurement } from './measurement.js';
import { applySwaps } from './minimal-pair.js';

const MAX_LISTED_HEADS = 5;
const MAX_NUMBERED = 16; // tokens; wider tables show numbers in tooltips only
const WHOLE_LEAD = 0.9; // share from which a state restores the whole lead

const formatShare = (share) => formatSigned(share, 2);
const toLevel = (share) => (1 + Math.max(-1, Math.min(1, share))) / 2; // on the difference scale

export class PairPatching {
  /** @param {import('../core/server.js').Server} server */
  constructor(server) {
    this.isOffered = Boolean(server.patch_pair);
    this.key = '';
    /** @type {{ request: any, other: string }} */
    this.query = { request: null, other: '' };
    /** @type {any} */
    this.answer = null; // of the last batch
    /** @type {any} */
    this.translation = null;
    this.measurement = new Measurement(
      async (first) => {
        this.answer = await callWithRetry(server.patch_pair, { ...this.query, first });
        return { all: this.answer.all, entries: this.answer.shares.map((share, offset) => [first + offset, share]) };
      },
      () => this.drawResult(),
    );
    this.title = make('h3', {});
    this.description = make('p', { class: 'quiet' });
    this.runButton = make('button', { type: 'button', class: 'link', onclick: () => this.press() });
    this.progress = make('span', { class: 'quiet numeric', role: 'status' });
    this.result = make('p', {});
    this.states = make('div', { class: 'states' });
    this.heads = new HeadBars();
    const line = make('div', { class: 'more' }, this.runButton, this.progress);
    this.element = make(
      'section',
      { class: 'patching', hidden: true },
      ...[this.title, this.description, line, this.result, this.states, this.heads.element],
    );
  }

  /** Offers the measurement if words of the sentence are swapped and nothing else is changed. */
  draw(translation) {
    const list = interventions();
    this.element.hidden = !this.isOffered || !list.length || list.some(({ action }) => action !== 'swap');
    if (this.element.hidden) return;
    this.translation = translation;
    const query = { request: translation.requestValues(), other: applySwaps(translation.source_text, list) };
    const key = JSON.stringify(query);
    if (key !== this.key) {
      [this.key, this.query, this.answer] = [key, query, null];
      this.measurement.reset();
    }
    this.title.textContent = t('patching_title');
    this.description.textContent = t('patching_says');
    this.drawResult();
  }

  press() {
    if (this.measurement.running) this.measurement.stop();
    else this.measurement.start();
  }

  drawResult() {
    const { measurement, answer } = this;
    this.runButton.hidden = measurement.isComplete;
    this.runButton.textContent = t(measurement.running ? 'whatif_measure_stop' : 'patching_run');
    this.progress.textContent = this.progressText();
    for (const part of [this.result, this.states, this.heads.element]) part.hidden = !answer;
    if (!answer) return;
    const shares = [...measurement.results.values()];
    const count = answer.tokens.length;
    const layers = this.translation.layers('encoder') + 1; // and the embedding
    const states = Array.from({ length: layers }, (_, layer) => shares.slice(layer * count, (layer + 1) * count));
    const heads = this.listHeads(shares.slice(layers * count));
    replace(this.result, ...(measurement.isComplete ? this.resultText(states, heads) : []));
    this.drawStates(states);
    const maximum = Math.max(Math.abs(heads[0]?.share ?? 0), 1e-9);
    const items = heads.slice(0, MAX_LISTED_HEADS).map((head) => ({
      ...head,
      share: head.share / maximum,
      level: toLevel(Math.sign(head.share)),
      numbers: [formatShare(head.share)],
    }));
    this.heads.draw(items);
  }

  progressText() {
    const { measurement } = this;
    if (measurement.fault) return measurement.fault;
    if (!measurement.results.size || measurement.isComplete) return '';
    const numbers = { done: measurement.results.size, all: measurement.measurementCount, limit: MAX_SECONDS };
    return t(measurement.hasTimedOut ? 'whatif_measured_late' : 'whatif_measured', numbers);
  }

  /** The heads with measured shares, in descending order. */
  listHeads(shares) {
    const count = this.translation.heads('encoder');
    const heads = KINDS.filter((kind) => this.translation.tensors[kind]).flatMap((kind) =>
      Array.from({ length: this.translation.layers(kind) * count }, (_, position) => ({
        kind,
        layer: Math.floor(position / count),
        head: position % count,
      })),
    );
    return shares.map((share, index) => ({ ...heads[index], share })).sort((a, b) => b.share - a.share);
  }

  /** Names the deepest layer in which one token's state brings the word back, and the best head. */
  resultText(states, heads) {
    const { word, other_word: other, tokens } = this.answer;
    const best = states.map((row) => Math.max(...row));
    const lastLayer = best.findLastIndex((share) => share >= WHOLE_LEAD);
    const layer = lastLayer < 0 ? best.indexOf(Math.max(...best)) : lastLayer;
    const token = tokens[states[layer].indexOf(best[layer])];
    const values = { layer, share: formatShare(best[layer]), head: headName(heads[0]), head_share: formatShare(heads[0].share) };
    const bold = (text) => make('b', {}, make('bdi', {}, text));
    const phrase = lastLayer < 0 ? 'patching_spread' : layer === 0 ? 'patching_embedding' : 'patching_layer';
    return fillElements(t(phrase, values), { token: bold(token), word: bold(word), other: bold(other) });
  }

  drawStates(states) {
    const { tokens, word, other_word: other } = this.answer;
    const isNumbered = tokens.length <= MAX_NUMBERED;
    const cell = (share, layer, column) => {
      if (share === undefined) return make('td', {});
      const colour = scaleColour('difference', toLevel(share));
      const title = `${this.layerName(layer)}, ${tokens[column]}: ${formatShare(share)}`;
      const style = `background:${cssColour(colour)};color:${textColourOn(colour)}`;
      return make('td', { title, style }, isNumbered ? formatShare(share).replace(/^0\./, '.') : '');
    };
    const head = make('tr', {}, make('td', {}), ...tokens.map((token) => make('th', { scope: 'col' }, make('bdi', {}, token))));
    const rows = states.map((_, index) => {
      const layer = states.length - 1 - index; // the last layer is above, as the model is drawn
      const cells = tokens.map((__, position) => cell(states[layer][position], layer, position));
      return make('tr', {}, make('th', { scope: 'row' }, this.layerName(layer)), ...cells);
    });
    const caption = make('caption', {}, t('patching_caption', { word, other }));
    replace(this.states, make('table', { class: 'numeric' }, caption, make('thead', {}, head), make('tbody', {}, ...rows)));
  }

  layerName(layer) {
    return layer ? t('word_layer', { layer }) : t('word_embedding');
  }
}
