// One snapshot of a run: translation, token probabilities and attention. Elements are reused between snapshots.

import { make, replace } from '../core/dom.js';
import { cssColour } from '../core/theme.js';
import { twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { valueColour } from '../parts/tooltip.js';
import { heatmap } from './heatmap.js';
import { headSlice } from './tensor-cache.js';
import { isRight, getVerdict } from './training-run.js';

const MAX_CHARACTERS = 44; // maximum length of a translation, because an untrained model never stops
const CELL = { height: 34, label: 116, widest: 56 };
const START = '<s>'; // the token that the first row reads
const CELL_SIZE = 9; // pixels per cell of the small maps

export class RunView {
  /** `pick(layer, head)` selects a head. */
  constructor(pick) {
    this.pick = pick;
    this.builtKey = '';
    this.name = make('p', { class: 'run-name' });
    this.translationText = make('bdi', {});
    this.verdict = make('span', { class: 'verdict' });
    this.chances = make('div', { class: 'chances' });
    this.title = make('div', { class: 'lesson-caption' });
    this.map = make('div', { class: 'run-map' });
    this.heads = make('div', { class: 'run-heads', role: 'group' });
    const text = make('p', { class: 'written' }, this.translationText, ' ', this.verdict);
    this.element = make('section', { class: 'run' }, this.name, text, this.chances, this.title, this.map, this.heads);
  }

  /**
   * @param {{ run: any, name: string, snapshotIndex: number, sentence: number, layer: number, head: number, width: number }} options
   *   `snapshotIndex`: index of the snapshot
   */
  draw({ run, name, snapshotIndex, sentence, layer, head, width }) {
    const { beginning } = run;
    const snapshot = run.snapshots[Math.min(snapshotIndex, run.snapshots.length - 1)];
    this.name.textContent = name;
    this.name.hidden = !name;
    this.element.classList.toggle('ended', Boolean(run.ended));
    if (!snapshot) return this.showFailure(run);
    const [tokens, source] = [beginning.targets[sentence], beginning.sources[sentence]];
    const sentenceResult = snapshot.shown[sentence];
    const [layers, heads, rows, columns] = sentenceResult.cross.shape;
    this.build({ tokens, layers, heads });
    this.translationText.textContent = readable(sentenceResult.written) || t('lesson_train_nothing');
    const verdict = getVerdict(beginning, sentence, sentenceResult.written);
    this.verdict.textContent = run.ended ? errorText(run.ended) : t(verdict, { count: beginning.accepted_targets[sentence].length });
    this.verdict.classList.toggle('right', isRight(beginning, sentence, sentenceResult.written) && !run.ended);
    for (const [number, probability] of sentenceResult.chances.entries()) {
      const [bar, text] = this.bars[number];
      bar.style.width = `${Math.max(1, 44 * probability)}px`;
      text.textContent = twoDecimals(probability);
    }
    const headMap = (headIndex) => headSlice({ shape: [layers, heads, rows, columns], numbers: sentenceResult.cross.numbers }, headIndex);
    const [layerIndex, headIndex] = [Math.min(layer, layers - 1), Math.min(head, heads - 1)];
    const axes = ` [${rows} ${t('lesson_axis_queries')} · ${columns} ${t('lesson_axis_keys')}]`;
    replace(
      this.title,
      make('b', {}, t('lesson_train_map', { layer: layerIndex + 1, head: headIndex + 1 })),
      make('span', { class: 'numeric' }, axes),
    );
    const range = (count) => Array.from({ length: count }, (_, number) => number);
    const map = heatmap({
      matrix: headMap(layerIndex * heads + headIndex),
      rows: { names: rowTexts(tokens), indices: range(rows) },
      columns: { names: source.map(label), indices: range(columns) },
      width,
      name: t('lesson_train_map', { layer: layerIndex + 1, head: headIndex + 1 }),
      scale: 'share',
      most: 1,
      digits: 2,
      ...CELL,
    });
    replace(this.map, map);
    for (const [number, { button, canvas }] of this.small.entries()) {
      button.setAttribute('aria-pressed', String(number === layerIndex * heads + headIndex));
      paint(canvas, headMap(number));
    }
  }

  /** Show the error of a run without snapshots. */
  showFailure(run) {
    this.builtKey = '';
    this.translationText.textContent = '';
    this.verdict.textContent = run.ended ? errorText(run.ended) : '';
    for (const element of [this.chances, this.title, this.map, this.heads]) replace(element);
  }

  /** Create the elements of a snapshot, unless the sentence and the shape are unchanged. */
  build({ tokens, layers, heads }) {
    const key = JSON.stringify([tokens, layers, heads, t('lesson_train_heads')]);
    if (key === this.builtKey) return;
    this.builtKey = key;
    this.bars = tokens.map(() => [make('i', {}), make('span', { class: 'numeric' })]);
    replace(this.chances, ...tokens.map((token, number) => make('div', {}, make('bdi', {}, label(token)), ...this.bars[number])));
    this.small = Array.from({ length: layers * heads }, (_, number) => {
      const [layer, head] = [Math.floor(number / heads), number % heads];
      const name = t('lesson_train_map', { layer: layer + 1, head: head + 1 });
      const canvas = make('canvas', { 'aria-hidden': 'true' });
      const button = make('button', { type: 'button', 'aria-label': name, title: name, onclick: () => this.pick(layer, head) }, canvas);
      return { button, canvas };
    });
    const rows = Array.from({ length: layers }, (_, layer) => [
      make('span', { class: 'numeric' }, t('lesson_layer', { layer: layer + 1 })),
      ...this.small.slice(layer * heads, (layer + 1) * heads).map(({ button }) => button),
    ]);
    this.heads.setAttribute('aria-label', t('lesson_train_heads'));
    this.heads.style.setProperty('--heads', String(heads));
    replace(this.heads, make('p', {}, make('b', {}, t('lesson_train_heads'))), ...rows.flat());
  }
}

/** Names of the rows: the token that a row reads → the token that it writes. */
const rowTexts = (tokens) => tokens.map((token, row) => `${row ? label(tokens[row - 1]) : START} → ${label(token)}`);

const label = (token) => token.trim() || '␣';

/** Replace incomplete bytes by dots, and truncate the text. */
const readable = (text) => [...text.replace(/[\p{C}\uFFFD]+/gu, '·')].slice(0, MAX_CHARACTERS).join('').trim();

const errorText = ({ why, says: error }) => (why === 'diverged' ? t('lesson_train_diverged') : t('lesson_train_broken', { error }));

function paint(canvas, { rows, columns, numbers }) {
  if (canvas.width !== columns * CELL_SIZE || canvas.height !== rows * CELL_SIZE)
    Object.assign(canvas, { width: columns * CELL_SIZE, height: rows * CELL_SIZE });
  const context = canvas.getContext('2d');
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      context.fillStyle = cssColour(valueColour(numbers[row * columns + column], 'share', 1));
      context.fillRect(column * CELL_SIZE, row * CELL_SIZE, CELL_SIZE - 1, CELL_SIZE - 1);
    }
  }
}
