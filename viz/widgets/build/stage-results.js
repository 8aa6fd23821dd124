// The model as built so far: its loss, the losses of all stages, and its translation with wrong words marked.

import { make, replace, svg } from '../core/dom.js';
import { sentenceGap, t } from '../core/i18n.js';
import { formatNumber } from '../parts/sums.js';

/** Sizes and positions of the chart in units of its view box. `floor`: y of the marks of later stages. */
const CHART = { step: 23.6, left: 12, height: 72, top: 18, bottom: 62, floor: 66 };
const LOSS_RANGE = [0.005, 2.2]; // losses at the bottom and at the top of the chart
const MAX_WORDS = 7; // words of a translation that are shown

/** The words that a model wrote, with an ellipsis if the translation did not end. */
export function sentenceText({ written, ended }) {
  if (!written.length) return t('build_nothing');
  return ended ? written.join(' ') : `${written.slice(0, MAX_WORDS).join(' ')} …`;
}

export class StageResults {
  /** `callbacks`: `put()`, `skip()`, `save()` and `stage(name)`, called when the reader chooses a button or a stage. */
  constructor(callbacks) {
    this.callbacks = callbacks;
    this.label = make('div', { class: 'quiet' });
    this.loss = make('div', { class: 'loss' });
    this.comparison = make('div', { class: 'before' });
    this.chartLabel = make('div', { class: 'quiet' });
    this.chart = svg('svg', { viewBox: `0 0 236 ${CHART.height}`, class: 'stage-losses', role: 'group' });
    this.source = make('div', { class: 'quiet' });
    this.translation = make('div', { class: 'translation', lang: 'en' });
    this.countText = make('div', { class: 'before' });
    this.note = make('p', { class: 'loss-note' });
    this.putButton = make('button', { type: 'button', class: 'go', onclick: () => callbacks.put() });
    this.skipButton = make('button', { type: 'button', class: 'link', onclick: () => callbacks.skip() });
    this.saveButton = make('button', { type: 'button', class: 'link', onclick: () => callbacks.save() });
    this.element = make(
      'section',
      { class: 'build-results', 'aria-live': 'polite' },
      make('div', {}, this.label, this.loss, this.comparison),
      make('div', { class: 'chart' }, this.chartLabel, this.chart),
      make('div', { class: 'writes' }, this.source, this.translation, this.countText),
      make('div', { class: 'build-actions' }, this.putButton, this.skipButton, this.saveButton),
      this.note,
    );
  }

  draw(data, state, canPut) {
    const name = shownVariant(data, state);
    const variant = data.variant(name);
    this.element.setAttribute('aria-label', t('build_results'));
    this.drawLoss(data, state, name, variant);
    this.drawChart(data, state, name);
    this.drawTranslation(data, state, variant);
    this.drawButtons(data, state, canPut);
  }

  drawLoss(data, state, name, variant) {
    this.label.textContent = t(state.removed ? 'build_loss_without' : 'build_loss');
    this.loss.textContent = formatNumber(variant.loss);
    const { stages } = data.answer;
    const previous = state.removed ? 'cross' : stages[stages.indexOf(name) - 1];
    const key = state.removed ? 'build_loss_with' : 'build_loss_before';
    this.comparison.textContent = previous ? t(key, { loss: formatNumber(data.variant(previous).loss) }) : '';
    this.note.textContent = lossNote(data, state, name);
    this.loss.title = t('build_loss_range', {
      low: formatNumber(variant.lowest_loss),
      high: formatNumber(variant.highest_loss),
      starts: variant.starts,
    });
  }

  drawChart(data, state, current) {
    const { stages } = data.answer;
    const reachedIndex = stages.indexOf(data.part(state.lastBuilt).stage);
    const losses = stages.map((stage) => data.variant(stage).loss);
    const x = (index) => CHART.left + index * CHART.step;
    const linePoints = losses.slice(0, reachedIndex + 1).map((loss, index) => `${x(index)},${lossToY(loss)}`);
    this.chartLabel.textContent = state.stage ? t(`build_stage_${state.stage}`) : t('build_chart');
    this.chart.setAttribute('aria-label', t('build_chart'));
    const focused = document.activeElement?.getAttribute?.('data-stage');
    replace(
      this.chart,
      svg('path', { class: 'axis', d: `M0 70H236` }),
      svg('polyline', { class: 'line', points: linePoints.join(' ') }),
      ...stages.map((stage, index) =>
        index <= reachedIndex
          ? this.makePoint(stage, losses[index], x(index), !state.removed && stage === current)
          : svg('rect', { class: 'later', x: x(index) - 2, y: CHART.floor, width: 4, height: 4 }),
      ),
    );
    if (focused) this.chart.querySelector(`[data-stage="${focused}"]`)?.focus();
  }

  /** A point of the chart as a button that shows the results of its stage. */
  makePoint(stage, loss, x, isCurrent) {
    const y = lossToY(loss);
    const group = svg(
      'g',
      {
        role: 'button',
        tabindex: '0',
        class: isCurrent ? 'point current' : 'point',
        'data-stage': stage,
        'aria-label': `${t(`build_stage_${stage}`)}: ${formatNumber(loss)}`,
      },
      svg('rect', { class: 'target', x: x - CHART.left, y: 0, width: CHART.step, height: CHART.height }),
      svg('circle', { cx: x, cy: y, r: isCurrent ? 5.5 : 3.5 }),
      ...(isCurrent ? [svg('text', { x, y: y - 10, 'text-anchor': 'middle' }, formatNumber(loss))] : []),
    );
    const choose = () => this.callbacks.stage(stage);
    group.addEventListener('click', choose);
    group.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      choose();
    });
    return group;
  }

  drawTranslation(data, state, variant) {
    const sentence = (state.removed && variant.failing) || variant.main;
    this.source.textContent = t('build_becomes', { source: sentence.source });
    const words = sentence.written.slice(0, MAX_WORDS);
    const wordNodes = words.flatMap((word, index) => [index ? ' ' : '', word === sentence.expected[index] ? word : make('em', {}, word)]);
    this.translation.classList.toggle('nothing', !words.length);
    replace(this.translation, ...(words.length ? wordNodes : [t('build_nothing')]), sentence.ended ? '' : ' …');
    const isWhole = shownVariant(data, state) === 'cross';
    this.countText.textContent = state.removed ? removedText(data, variant) : isWhole ? wholeText(data, variant) : countText(data, variant);
  }

  drawButtons(data, state, canPut) {
    const isBuilt = state.isBuilt();
    const isLast = state.index === state.names.length - 1;
    this.putButton.textContent = t(isBuilt ? (isLast ? 'build_large' : 'build_next_part') : 'build_put');
    this.putButton.disabled = !isBuilt && !canPut;
    const canRemove = isBuilt && state.isWhole && data.part(state.part).without;
    this.skipButton.hidden = isBuilt && !canRemove;
    this.saveButton.hidden = !isBuilt || !(isLast || state.isWhole);
    this.saveButton.textContent = t('build_save_script');
    this.skipButton.textContent = t(isBuilt ? (state.removed ? 'build_put_back' : 'build_take_out') : 'build_show_answer');
  }
}

/** The number of sentences that a variant translates correctly. */
export function countText(data, { right_count: right }) {
  const all = data.answer.sentences;
  if (right === all) return t('build_all_right', { all });
  return right ? t('build_some_right', { right, all }) : t('build_none_right');
}

/** The finished model: which start is shown, and that the model of all calculations translates everything, too. */
function wholeText(data, variant) {
  const { perfect_starts: perfect, starts } = variant;
  const { right_count: right, sentences: all } = data.answer;
  return [countText(data, variant), t('build_whole_start', { perfect, starts }), t('build_whole_own', { right, all })].join(sentenceGap());
}

/** The number of training runs that translate everything without the part, and with it. */
function removedText(data, variant) {
  const whole = data.variant('cross');
  const starts = t('build_starts', { perfect: variant.perfect_starts, starts: variant.starts, whole: whole.perfect_starts });
  const isMedian = variant.fails_at_median || !variant.failing;
  return [isMedian ? countText(data, variant) : t('build_other_start'), starts].join(sentenceGap());
}

/** A note that a low loss is misleading: without the mask, rows copy the word that they should write. */
export function lossNote(data, state, name) {
  const { stages } = data.answer;
  const [current, mask] = [name, 'mask'].map((stage) => stages.indexOf(stage));
  const values = { part: data.partNumber('mask') };
  if (state.removed) return state.removed === 'mask' ? t('build_loss_copied', values) : '';
  if (current === mask) return t('build_loss_honest', values);
  return current > 0 && current < mask ? t('build_loss_copied', values) : '';
}

/** The trained variant on display: without the removed part, an earlier stage, or the model so far. */
export function shownVariant(data, state) {
  if (state.removed) return data.part(state.removed).without;
  return state.stage || data.part(state.lastBuilt).stage;
}

/** The y of a loss on the logarithmic axis. */
const lossToY = (loss) => {
  const [min, max] = LOSS_RANGE.map(Math.log);
  const fraction = (Math.log(Math.max(LOSS_RANGE[0], loss)) - min) / (max - min);
  return CHART.bottom - fraction * (CHART.bottom - CHART.top);
};
