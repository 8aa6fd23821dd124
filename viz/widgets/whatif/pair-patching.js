// Activation patching of a minimal pair: copies states and heads of the first sentence's run into the second sentence's run,
// and measures the share of the first sentence's lead that each restores.

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
const MAX_NUMBERED_TOKENS = 16; // tables with more columns show numbers in tooltips only
const MIN_WHOLE_SHARE = 0.9; // a state with this share of the lead counts as restoring it

const formatShare = (share) => formatSigned(share, 2);
/** Position on the difference scale, from 0 to 1. */
const toLevel = (share) => (1 + Math.max(-1, Math.min(1, share))) / 2;

export class PairPatching {
  /** @param {import('../core/server.js').Server} server */
  constructor(server) {
    this.isOffered = Boolean(server.patch_pair);
    this.key = '';
    /** @type {{ request: any, other: string }} */
    this.query = { request: null, other: '' };
    /** @type {any} */
    this.answer = null; // the server's response to the last batch
    /** @type {any} */
    this.translation = null;
    // Shares by index: states first, by layer and token, then heads.
    this.measurement = new Measurement(
      async (first) => {
        this.answer = await callWithRetry(server.patch_pair, { ...this.query, first });
        return { all: this.answer.all, entries: this.answer.shares.map((share, offset) => [first + offset, share]) };
      },
      () => this.drawResult(),
    );
    this.title = make('h3', {});
    this.description = make('p', { class: 'quiet' });
    this.runButton = make('button', { type: 'button', class: 'link', onclick: () => this.toggle() });
    this.progress = make('span', { class: 'quiet numeric', role: 'status' });
    this.result = make('p', {});
    this.states = make('div', { class: 'states' });
    this.heads = new HeadBars();
    const controls = make('div', { class: 'more' }, this.runButton, this.progress);
    this.element = make(
      'section',
      { class: 'patching', hidden: true },
      ...[this.title, this.description, controls, this.result, this.states, this.heads.element],
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

  toggle() {
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
    const tokenCount = answer.tokens.length;
    const layerCount = this.translation.layers('encoder') + 1; // the embedding counts as a layer
    const states = Array.from({ length: layerCount }, (_, layer) => shares.slice(layer * tokenCount, (layer + 1) * tokenCount));
    const heads = this.sortHeads(shares.slice(layerCount * tokenCount));
    replace(this.result, ...(measurement.isComplete ? this.resultElements(states, heads) : []));
    this.drawStates(states);
    const maxShare = Math.max(Math.abs(heads[0]?.share ?? 0), 1e-9);
    const items = heads.slice(0, MAX_LISTED_HEADS).map((head) => ({
      ...head,
      share: head.share / maxShare,
      level: toLevel(Math.sign(head.share)),
      numbers: [formatShare(head.share)],
    }));
    this.heads.draw(items);
  }

  progressText() {
    const { measurement } = this;
    if (measurement.fault) return measurement.fault;
    if (!measurement.results.size || measurement.isComplete) return '';
    const numbers = { done: measurement.results.size, all: measurement.valueCount, limit: MAX_SECONDS };
    return t(measurement.hasTimedOut ? 'whatif_measured_late' : 'whatif_measured', numbers);
  }

  /** The heads with measured shares, the largest share first. */
  sortHeads(shares) {
    const headCount = this.translation.heads('encoder'); // per layer
    const heads = KINDS.filter((kind) => this.translation.tensors[kind]).flatMap((kind) =>
      Array.from({ length: this.translation.layers(kind) * headCount }, (_, index) => ({
        kind,
        layer: Math.floor(index / headCount),
        head: index % headCount,
      })),
    );
    return shares.map((share, index) => ({ ...heads[index], share })).sort((a, b) => b.share - a.share);
  }

  /**
   * A sentence that names the best head, and the deepest layer in which one token's state restores the whole lead or, if
   * there is none, the layer of the best state. `states`: shares by layer and token.
   */
  resultElements(states, heads) {
    const { word, other_word: other, tokens } = this.answer;
    const maxShares = states.map((layerShares) => Math.max(...layerShares));
    const deepestLayer = maxShares.findLastIndex((share) => share >= MIN_WHOLE_SHARE);
    const layer = deepestLayer < 0 ? maxShares.indexOf(Math.max(...maxShares)) : deepestLayer;
    const token = tokens[states[layer].indexOf(maxShares[layer])];
    const values = { layer, share: formatShare(maxShares[layer]), head: headName(heads[0]), head_share: formatShare(heads[0].share) };
    const bold = (text) => make('b', {}, make('bdi', {}, text));
    const phrase = deepestLayer < 0 ? 'patching_spread' : layer === 0 ? 'patching_embedding' : 'patching_layer';
    return fillElements(t(phrase, values), { token: bold(token), word: bold(word), other: bold(other) });
  }

  /** Draws a table of the shares of states: a row per layer, the last layer on top, and a column per token. */
  drawStates(states) {
    const { tokens, word, other_word: other } = this.answer;
    const isNumbered = tokens.length <= MAX_NUMBERED_TOKENS;
    const cell = (share, layer, column) => {
      if (share === undefined) return make('td', {});
      const colour = scaleColour('difference', toLevel(share));
      const title = `${this.layerName(layer)}, ${tokens[column]}: ${formatShare(share)}`;
      const style = `background:${cssColour(colour)};color:${textColourOn(colour)}`;
      return make('td', { title, style }, isNumbered ? formatShare(share).replace(/^0\./, '.') : '');
    };
    const header = make('tr', {}, make('td', {}), ...tokens.map((token) => make('th', { scope: 'col' }, make('bdi', {}, token))));
    const rows = states.map((_, index) => {
      const layer = states.length - 1 - index;
      const cells = tokens.map((__, column) => cell(states[layer][column], layer, column));
      return make('tr', {}, make('th', { scope: 'row' }, this.layerName(layer)), ...cells);
    });
    const caption = make('caption', {}, t('patching_caption', { word, other }));
    replace(this.states, make('table', { class: 'numeric' }, caption, make('thead', {}, header), make('tbody', {}, ...rows)));
  }

  layerName(layer) {
    return layer ? t('word_layer', { layer }) : t('word_embedding');
  }
}
