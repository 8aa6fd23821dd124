// Head importance: the log probability in nats lost without each head, layer and kind. It is measured in batches and shown on
// the wall. Also the interactions of one head with all other heads.

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
  /** `getHeadView()` returns the view whose wall shows the results; `onChange()` is called on updates. */
  constructor(server, getHeadView, onChange) {
    this.getHeadView = getHeadView;
    this.onChange = onChange;
    this.key = '';
    this.request = null;
    /** @type {any} */
    this.translation = null;
    this.tileContent = 'maps'; // of the wall: 'maps', 'losses' or 'interactions'
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
    this.measureButton = make('button', { type: 'button', class: 'link', onclick: () => this.toggleMeasurement() });
    this.pairButton = make('button', { type: 'button', class: 'link', onclick: () => this.togglePairMeasurement() });
    this.tileButtons = make('div', { class: 'segments', role: 'group' });
    this.progress = make('p', { class: 'quiet numeric', role: 'status' });
    const buttons = make('div', { class: 'more' }, this.measureButton, this.tileButtons, this.pairButton);
    this.predicted = new PredictedHeads(server);
    const parts = [this.title, this.description, buttons, this.progress, this.predicted.element];
    this.element = make('section', { class: 'importance' }, ...parts);
  }

  /** Draws the measurements, and discards those of another translation. */
  draw(translation) {
    const key = JSON.stringify(translation.requestValues());
    if (key !== this.key) {
      [this.key, this.request, this.tileContent, this.selectedHead] = [key, translation.requestValues(), 'maps', null];
      this.single.reset();
      this.pairs.reset();
    }
    this.translation = translation;
    this.title.textContent = t('whatif_importance');
    this.drawControls();
  }

  /** Measures the losses of all heads, or stops the measurement. */
  toggleMeasurement() {
    if (this.single.running) return this.single.stop();
    this.tileContent = 'losses';
    this.single.start();
  }

  /** Measures the interactions of the selected head, or stops the measurement. */
  togglePairMeasurement() {
    if (this.pairs.running) return this.pairs.stop();
    const { kind, layer, head } = state;
    const selectedHead = { kind, layer, head };
    if (!this.selectedHead || headKey(selectedHead) !== headKey(this.selectedHead)) {
      this.pairs.reset();
      this.selectedHead = selectedHead;
    }
    this.tileContent = 'interactions';
    this.pairs.start();
  }

  drawControls() {
    const { single } = this;
    this.description.textContent = t(this.tileContent === 'interactions' ? 'whatif_together_says' : 'whatif_importance_says');
    this.measureButton.hidden = single.isComplete;
    this.measureButton.textContent = t(single.running ? 'whatif_measure_stop' : 'whatif_measure');
    this.drawPairButton();
    this.tileButtons.hidden = !single.results.size;
    this.tileButtons.setAttribute('aria-label', t('whatif_tiles'));
    const button = (content, caption) => {
      const onclick = () => {
        this.tileContent = content;
        this.drawControls();
      };
      return make('button', { type: 'button', 'aria-pressed': String(content === this.tileContent), onclick }, caption);
    };
    const buttons = [button('maps', t('whatif_maps')), button('losses', t('whatif_losses'))];
    if (this.selectedHead) buttons.push(button('interactions', t('whatif_interactions', { head: headName(this.selectedHead) })));
    reconcile(this.tileButtons, ...buttons);
    this.progress.textContent = this.progressText();
    if (this.translation) this.predicted.draw(this.translation, single.results, headKey);
    this.paintTiles();
    this.onChange();
  }

  /** Draws the button for the interactions of the selected head, which appears once all single heads are measured. */
  drawPairButton() {
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
    const { single, pairs, tileContent } = this;
    const measurement = tileContent === 'interactions' ? pairs : single;
    if (measurement.fault) return measurement.fault;
    if (!measurement.results.size) return '';
    const numbers = { done: measurement.results.size, all: measurement.valueCount, limit: MAX_SECONDS };
    if (measurement.hasTimedOut) return t('whatif_measured_late', numbers);
    if (!measurement.isComplete) return t('whatif_measured', numbers);
    if (measurement === pairs) {
      const strongestPair = [...pairs.results.values()]
        .filter((pair) => headKey(pair) !== headKey(this.selectedHead))
        .reduce((a, b) => (Math.abs(this.getInteraction(b)) > Math.abs(this.getInteraction(a)) ? b : a));
      return t('whatif_together_most', {
        head: headName(this.selectedHead),
        other: headName(strongestPair),
        loss: signed(this.getInteraction(strongestPair), 2),
      });
    }
    const mostImportant = this.sortByLoss().at(-1);
    return t('whatif_measured_all', { ...numbers, head: headName(mostImportant), loss: formatSigned(mostImportant.loss, 2) });
  }

  /** The measured single heads by increasing loss. */
  sortByLoss() {
    const heads = [...this.single.results.values()].filter(({ head }) => head !== null);
    return heads.sort((a, b) => a.loss - b.loss);
  }

  /**
   * Interaction in nats of the selected head with another: the loss without both heads, minus the sum of their single losses.
   * `pair`: the other head's indices, with the loss without both.
   */
  getInteraction(pair) {
    const singleLoss = (head) => this.single.results.get(headKey(head)).loss;
    return pair.loss - singleLoss(pair) - singleLoss(this.selectedHead);
  }

  /** Shows losses or interactions on the tiles of the wall, or restores the maps. */
  paintTiles() {
    const { tileContent } = this;
    const measurements = tileContent === 'interactions' ? this.pairs.results : this.single.results;
    const selectedKey = this.selectedHead && headKey(this.selectedHead);
    const interactionSize = (pair) => (headKey(pair) === selectedKey ? 0 : Math.abs(this.getInteraction(pair)));
    const maxValue =
      tileContent === 'interactions'
        ? Math.max(1e-9, ...[...measurements.values()].map(interactionSize))
        : Math.max(1e-9, ...this.sortByLoss().map(({ loss }) => loss));
    for (const button of this.getHeadView().grid.buttons()) {
      const toIndex = (text) => (text === 'mean' ? null : Number(text));
      const { layer, head } = button.dataset;
      const key = headKey({ kind: state.kind, layer: toIndex(layer), head: toIndex(head) });
      const measurement = tileContent === 'maps' || head === 'max' ? null : measurements.get(key);
      let badge = button.querySelector('.loss');
      if (!measurement) {
        badge?.remove();
        button.removeAttribute('title');
        continue;
      }
      if (!badge) {
        badge = make('b', { class: 'loss numeric', 'aria-hidden': 'true' });
        button.append(badge);
      }
      const name = button.getAttribute('aria-label');
      if (tileContent === 'losses') this.paintLoss(badge, measurement.loss, maxValue);
      else if (key === selectedKey) [badge.textContent, badge.style.cssText] = ['·', 'background:var(--tint)'];
      else this.paintInteraction(badge, this.getInteraction(measurement), maxValue);
      button.title =
        tileContent === 'losses'
          ? t('whatif_costs', { head: name, loss: formatSigned(measurement.loss, 2) })
          : t('whatif_interacts', {
              head: name,
              other: headName(this.selectedHead),
              loss: signed(key === selectedKey ? 0 : this.getInteraction(measurement), 2),
            });
    }
  }

  paintLoss(badge, loss, maxLoss) {
    const colour = scaleColour(state.palette, Math.sqrt(Math.min(1, Math.max(0, loss) / maxLoss)));
    badge.textContent = formatTile(loss);
    badge.style.cssText = `background:${cssColour(colour)};color:${textColourOn(colour)}`;
  }

  /** Negative interactions are orange, positive ones blue. */
  paintInteraction(badge, interaction, maxInteraction) {
    const colour = scaleColour('difference', 0.5 + (MAX_COLOUR_SHARE * interaction) / maxInteraction / 2);
    badge.textContent = formatTile(interaction);
    badge.style.cssText = `background:${cssColour(colour)};color:${textColourOn(colour)}`;
  }
}

/** One decimal, or none if the integer part has two digits; zero has no sign. */
function formatTile(number) {
  const text = formatSigned(number, Math.abs(number) < 9.95 ? 1 : 0);
  return text === '−0.0' ? '0.0' : text;
}

const headKey = ({ kind, layer, head }) => `${kind} ${layer} ${head}`;
