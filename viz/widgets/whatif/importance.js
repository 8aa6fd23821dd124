// Head importance: the log probability lost without each head, layer and kind, measured in batches and shown on the
// wall; and the interactions of one head with all other heads.

import { callWithRetry } from '../core/boot.js';
import { make } from '../core/dom.js';
import { reconcile } from '../core/reconcile.js';
import { state } from '../core/state.js';
import { cssColour, textColourOn, scaleColour } from '../core/theme.js';
import { formatSigned, signed } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { headName } from './head-bars.js';
import { MAX_SECONDS, Measurement } from './measurement.js';
import { PredictedHeads } from './predicted-heads.js';

const MAX_COLOUR_SHARE = 0.75; // fraction of the strongest colour used for the largest interaction

export class Importance {
  /**
   * `heads()` returns the view whose wall shows the results; `onChange()` is called on updates.
   */
  constructor(server, heads, onChange) {
    this.heads = heads;
    this.onChange = onChange;
    this.key = '';
    this.request = null;
    /** @type {any} */
    this.translation = null;
    this.tiles = 'maps';
    this.selectedHead = null; // the head whose interactions are shown: {kind, layer, head}
    const measureBatch = async (call, values) => {
      const { all, losses } = await callWithRetry(call, { request: this.request, ...values });
      return { all, entries: losses.map((entry) => [headKey(entry), entry]) };
    };
    this.single = new Measurement(
      (first) => measureBatch(server.measure_importance, { first }),
      () => this.drawControls(),
    );
    this.pairs = new Measurement(
      (first) => measureBatch(server.measure_interactions, { first, part: this.selectedHead }),
      () => this.drawControls(),
    );
    this.title = make('h3', {});
    this.description = make('p', { class: 'quiet' });
    this.measureButton = make('button', { type: 'button', class: 'link', onclick: () => this.press() });
    this.pairButton = make('button', { type: 'button', class: 'link', onclick: () => this.pressPairs() });
    this.choice = make('div', { class: 'segments', role: 'group' });
    this.progress = make('p', { class: 'quiet numeric', role: 'status' });
    const line = make('div', { class: 'more' }, this.measureButton, this.choice, this.pairButton);
    this.predicted = new PredictedHeads(server);
    const parts = [this.title, this.description, line, this.progress, this.predicted.element];
    this.element = make('section', { class: 'importance' }, ...parts);
  }

  /** Reset for another translation. */
  draw(translation) {
    const key = JSON.stringify(translation.requestValues());
    if (key !== this.key) {
      [this.key, this.request, this.tiles, this.selectedHead] = [key, translation.requestValues(), 'maps', null];
      this.single.reset();
      this.pairs.reset();
    }
    this.translation = translation;
    this.title.textContent = t('whatif_importance');
    this.drawControls();
  }

  press() {
    if (this.single.running) return this.single.stop();
    this.tiles = 'losses';
    this.single.start();
  }

  /** Measure the selected head's interactions, or stop. */
  pressPairs() {
    if (this.pairs.running) return this.pairs.stop();
    const { kind, layer, head } = state;
    const selectedHead = { kind, layer, head };
    if (!this.selectedHead || headKey(selectedHead) !== headKey(this.selectedHead)) {
      this.pairs.reset();
      this.selectedHead = selectedHead;
    }
    this.tiles = 'interactions';
    this.pairs.start();
  }

  drawControls() {
    const { single } = this;
    this.description.textContent = t(this.tiles === 'interactions' ? 'whatif_together_says' : 'whatif_importance_says');
    this.measureButton.hidden = single.isComplete;
    this.measureButton.textContent = t(single.running ? 'whatif_measure_stop' : 'whatif_measure');
    this.offerHead();
    this.choice.hidden = !single.results.size;
    this.choice.setAttribute('aria-label', t('whatif_tiles'));
    const tile = (name, caption) => {
      const pick = () => {
        this.tiles = name;
        this.drawControls();
      };
      return make('button', { type: 'button', 'aria-pressed': String(name === this.tiles), onclick: pick }, caption);
    };
    const tiles = [tile('maps', t('whatif_maps')), tile('losses', t('whatif_losses'))];
    if (this.selectedHead) tiles.push(tile('interactions', t('whatif_interactions', { head: headName(this.selectedHead) })));
    reconcile(this.choice, ...tiles);
    this.progress.textContent = this.progressText();
    if (this.translation) this.predicted.draw(this.translation, single.results, headKey);
    this.paint();
    this.onChange();
  }

  /** Offer the interactions of the selected head once all single heads are measured. */
  offerHead() {
    const { single, pairs } = this;
    const isSingleHead = typeof state.layer === 'number' && typeof state.head === 'number';
    const currentHead = isSingleHead ? { kind: state.kind, layer: state.layer, head: state.head } : null;
    const isMeasured = currentHead && this.selectedHead && headKey(currentHead) === headKey(this.selectedHead) && pairs.isComplete;
    this.pairButton.hidden = !single.isComplete || (!pairs.running && (!currentHead || isMeasured));
    this.pairButton.textContent = pairs.running
      ? t('whatif_measure_stop')
      : currentHead
        ? t('whatif_measure_together', { head: headName(currentHead) })
        : '';
  }

  progressText() {
    const { single, pairs, tiles } = this;
    const measurement = tiles === 'interactions' ? pairs : single;
    if (measurement.fault) return measurement.fault;
    if (!measurement.results.size) return '';
    const numbers = { done: measurement.results.size, all: measurement.measurementCount, limit: MAX_SECONDS };
    if (measurement.hasTimedOut) return t('whatif_measured_late', numbers);
    if (!measurement.isComplete) return t('whatif_measured', numbers);
    if (measurement === pairs) {
      const strongestPair = [...pairs.results.values()]
        .filter((item) => headKey(item) !== headKey(this.selectedHead))
        .reduce((a, b) => (Math.abs(this.interaction(b)) > Math.abs(this.interaction(a)) ? b : a));
      return t('whatif_together_most', {
        head: headName(this.selectedHead),
        other: headName(strongestPair),
        loss: signed(this.interaction(strongestPair), 2),
      });
    }
    const strongest = this.byLoss().at(-1);
    return t('whatif_measured_all', { ...numbers, head: headName(strongest), loss: formatSigned(strongest.loss, 2) });
  }

  /** Single heads by increasing importance. */
  byLoss() {
    const heads = [...this.single.results.values()].filter(({ head }) => head !== null);
    return heads.sort((a, b) => a.loss - b.loss);
  }

  /** Loss without both heads, minus the sum of their single losses. */
  interaction(head) {
    const singleLoss = (part) => this.single.results.get(headKey(part)).loss;
    return head.loss - singleLoss(head) - singleLoss(this.selectedHead);
  }

  /** Show losses or interactions on the wall, or restore the maps. */
  paint() {
    const { tiles } = this;
    const measurements = tiles === 'interactions' ? this.pairs.results : this.single.results;
    const ownKey = this.selectedHead && headKey(this.selectedHead);
    const maximum =
      tiles === 'interactions'
        ? Math.max(1e-9, ...[...measurements.values()].map((item) => (headKey(item) === ownKey ? 0 : Math.abs(this.interaction(item)))))
        : Math.max(1e-9, ...this.byLoss().map(({ loss }) => loss));
    for (const button of this.heads().grid.buttons()) {
      const toIndex = (text) => (text === 'mean' ? null : Number(text));
      const { layer, head } = button.dataset;
      const key = headKey({ kind: state.kind, layer: toIndex(layer), head: toIndex(head) });
      const measurement = tiles === 'maps' || head === 'max' ? null : measurements.get(key);
      let sign = button.querySelector('.loss');
      if (!measurement) {
        sign?.remove();
        button.removeAttribute('title');
        continue;
      }
      if (!sign) {
        sign = make('b', { class: 'loss numeric', 'aria-hidden': 'true' });
        button.append(sign);
      }
      const name = button.getAttribute('aria-label');
      if (tiles === 'losses') this.paintLoss(sign, measurement.loss, maximum);
      else if (key === ownKey) [sign.textContent, sign.style.cssText] = ['·', 'background:var(--tint)'];
      else this.paintInteraction(sign, this.interaction(measurement), maximum);
      button.title =
        tiles === 'losses'
          ? t('whatif_costs', { head: name, loss: formatSigned(measurement.loss, 2) })
          : t('whatif_interacts', {
              head: name,
              other: headName(this.selectedHead),
              loss: signed(key === ownKey ? 0 : this.interaction(measurement), 2),
            });
    }
  }

  paintLoss(sign, loss, maximum) {
    const colour = scaleColour(state.palette, Math.sqrt(Math.min(1, Math.max(0, loss) / maximum)));
    sign.textContent = formatTile(loss);
    sign.style.cssText = `background:${cssColour(colour)};color:${textColourOn(colour)}`;
  }

  /** Negative interactions are orange, positive ones blue. */
  paintInteraction(sign, value, maximum) {
    const colour = scaleColour('difference', 0.5 + (MAX_COLOUR_SHARE * value) / maximum / 2);
    sign.textContent = formatTile(value);
    sign.style.cssText = `background:${cssColour(colour)};color:${textColourOn(colour)}`;
  }
}

/** One decimal, or none for numbers of two digits; zero has no sign. */
function formatTile(number) {
  const text = formatSigned(number, Math.abs(number) < 9.95 ? 1 : 0);
  return text === '−0.0' ? '0.0' : text;
}

const headKey = ({ kind, layer, head }) => `${kind} ${layer} ${head}`;
