// One snapshot of a run: translation, token probabilities, attention. Elements are reused; snapshots are rendered into them.

import { make, replace } from '../core/dom.js';
import { cssColour } from '../core/theme.js';
import { twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { valueColour } from '../parts/tooltip.js';
import { heatmap } from './heatmap.js';
import { headSlice } from './tensor-cache.js';
import { isRight, verdictOf } from './training-run.js';

const MAX_CHARACTERS = 44; // maximum translation length: an untrained model never stops
const CELL = { height: 34, label: 62, widest: 56 };
const SMALL = 9; // pixels of a cell of the small maps

export class RunView {
  /** `pick(layer, head)`. */
  constructor(pick) {
    this.pick = pick;
    this.built = '';
    this.name = make('p', { class: 'run-name' });
    this.written = make('bdi', {});
    this.verdict = make('span', { class: 'verdict' });
    this.chances = make('div', { class: 'chances' });
    this.title = make('div', { class: 'lesson-caption' });
    this.map = make('div', { class: 'run-map' });
    this.heads = make('div', { class: 'run-heads', role: 'group' });
    const said = make('p', { class: 'written' }, this.written, ' ', this.verdict);
    this.element = make('section', { class: 'run' }, this.name, said, this.chances, this.title, this.map, this.heads);
  }

  /**
   * @param {{ run: any, name: string, place: number, sentence: number, layer: number, head: number, width: number }} about
   *   `place`: of the moment
   */
  draw({ run, name, place, sentence, layer, head, width }) {
    const { beginning } = run;
    const moment = run.moments[Math.min(place, run.moments.length - 1)];
    this.name.textContent = name;
    this.name.hidden = !name;
    this.element.classList.toggle('ended', Boolean(run.ended));
    if (!moment) return this.showFailure(run);
    const [tokens, source] = [beginning.targets[sentence], beginning.sources[sentence]];
    const shown = moment.shown[sentence];
    const [layers, heads, rows, columns] = shown.cross.shape;
    this.build({ tokens, layers, heads });
    this.written.textContent = readable(shown.written) || t('lesson_train_nothing');
    const verdict = verdictOf(beginning, sentence, shown.written);
    this.verdict.textContent = run.ended ? says(run.ended) : t(verdict, { count: beginning.accepted_targets[sentence].length });
    this.verdict.classList.toggle('right', isRight(beginning, sentence, shown.written) && !run.ended);
    for (const [number, chance] of shown.chances.entries()) {
      const [bar, text] = this.bars[number];
      bar.style.width = `${Math.max(1, 44 * chance)}px`;
      text.textContent = twoDecimals(chance);
    }
    const of = (which) => headSlice({ shape: [layers, heads, rows, columns], numbers: shown.cross.numbers }, which);
    const [at, which] = [Math.min(layer, layers - 1), Math.min(head, heads - 1)];
    const axes = ` [${rows} ${t('lesson_axis_queries')} · ${columns} ${t('lesson_axis_keys')}]`;
    replace(this.title, make('b', {}, t('lesson_train_map', { layer: at + 1, head: which + 1 })), make('span', { class: 'numeric' }, axes));
    const places = (count) => Array.from({ length: count }, (_, number) => number);
    const picture = heatmap({
      matrix: of(at * heads + which),
      rows: { names: tokens.map(label), places: places(rows) },
      columns: { names: source.map(label), places: places(columns) },
      width,
      name: t('lesson_train_map', { layer: at + 1, head: which + 1 }),
      scale: 'share',
      most: 1,
      digits: 2,
      ...CELL,
    });
    replace(this.map, picture);
    for (const [number, { button, canvas }] of this.small.entries()) {
      button.setAttribute('aria-pressed', String(number === at * heads + which));
      paint(canvas, of(number));
    }
  }

  /** Nothing came of it at all. */
  showFailure(run) {
    this.built = '';
    this.written.textContent = '';
    this.verdict.textContent = run.ended ? says(run.ended) : '';
    for (const part of [this.chances, this.title, this.map, this.heads]) replace(part);
  }

  /** The parts that a frame is painted into: made again only for another sentence or another shape. */
  build({ tokens, layers, heads }) {
    const key = JSON.stringify([tokens, layers, heads, t('lesson_train_heads')]);
    if (key === this.built) return;
    this.built = key;
    this.bars = tokens.map(() => [make('i', {}), make('span', { class: 'numeric' })]);
    replace(this.chances, ...tokens.map((token, number) => make('div', {}, make('bdi', {}, label(token)), ...this.bars[number])));
    this.small = Array.from({ length: layers * heads }, (_, number) => {
      const [layer, head] = [Math.floor(number / heads), number % heads];
      const name = t('lesson_train_map', { layer: layer + 1, head: head + 1 });
      const canvas = make('canvas', { 'aria-hidden': 'true' });
      const button = make('button', { type: 'button', 'aria-label': name, title: name, onclick: () => this.pick(layer, head) }, canvas);
      return { button, canvas };
    });
    const lines = Array.from({ length: layers }, (_, layer) => [
      make('span', { class: 'numeric' }, t('lesson_layer', { layer: layer + 1 })),
      ...this.small.slice(layer * heads, (layer + 1) * heads).map(({ button }) => button),
    ]);
    this.heads.setAttribute('aria-label', t('lesson_train_heads'));
    this.heads.style.setProperty('--heads', String(heads));
    replace(this.heads, make('p', {}, make('b', {}, t('lesson_train_heads'))), ...lines.flat());
  }
}

const label = (token) => token.trim() || '␣';

/** Incomplete bytes become dots. */
const readable = (text) => [...text.replace(/[\p{C}\uFFFD]+/gu, '·')].slice(0, MAX_CHARACTERS).join('').trim();

const says = ({ why, says: said }) => (why === 'diverged' ? t('lesson_train_diverged') : t('lesson_train_broken', { error: said }));

function paint(canvas, { rows, columns, numbers }) {
  if (canvas.width !== columns * SMALL || canvas.height !== rows * SMALL)
    Object.assign(canvas, { width: columns * SMALL, height: rows * SMALL });
  const context = canvas.getContext('2d');
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      context.fillStyle = cssColour(valueColour(numbers[row * columns + column], 'share', 1));
      context.fillRect(column * SMALL, row * SMALL, SMALL - 1, SMALL - 1);
    }
  }
}
