// The few pictures of all lessons: heat, strip, stack, pair, table, bars, histogram, curve, and the tokens themselves.

import { make } from '../core/dom.js';
import { formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { caption, columnsOf, legend, clickToPick, colourLimit, rowsOf, shapeOf } from './captions.js';
import { drawResult } from './result-figures.js';
import { heatmap } from './heatmap.js';
import { drawBars, drawCurve, drawHistogram, drawTable, drawTokens } from './step-tables.js';
import { maxAbs, rowOf } from './tensor-cache.js';

const THICK = 22; // row height in pixels for few rows
const THIN = 15; // of three tensors above one another

/** @typedef {import('./step-scene.js').StepScene} Scene */
/** @typedef {{ scene: Scene, width: number, pick: (changes: any) => void, all: boolean, training: any }} Drawing */

/** The pictures of a step, one below the other: of tensors, and of what its experiment found. */
export function drawFigures(drawing) {
  const { step, found } = drawing.scene;
  const shown = step.figures.flatMap((figure) => FORMS[figure.form](figure, drawing).filter(Boolean));
  return found ? [...shown, ...drawResult(found, { lesson: step.lesson, width: drawing.width, training: drawing.training })] : shown;
}

const FORMS = {
  tokens: drawTokens,
  heat: drawHeat,
  strip: drawStrips,
  stack: drawStack,
  pair: drawPair,
  table: drawTable,
  bars: drawBars,
  histogram: drawHistogram,
  curve: drawCurve,
};

// ---------------------------------------------------------------- matrices

function drawHeat(figure, { scene, width, pick, all }) {
  const [show] = scene.visibleTensors(figure);
  const matrix = scene.matrix(show);
  if (figure.square) return [...square(figure, show, matrix, { scene, width, pick, all }), legendOf(figure, matrix)];
  const most = figure.scale === 'share' ? 1 : colourLimit(matrix.numbers);
  const rows = rowsOf(show, scene, matrix.rows, all);
  const row = ['stages', 'one'].includes(show.rows) ? null : scene.row;
  const about = {
    matrix,
    width,
    rows,
    scale: figure.scale,
    most,
    height: THICK,
    row,
    name: t(`lesson_tensor_${show.name}`),
    pick: clickToPick(pick, scene, false),
  };
  const head = scene.head * scene.model.head_width;
  const band = figure.heads ? /** @type {[number, number]} */ ([head, head + scene.model.head_width]) : null;
  const above = figure.heads ? headNames(scene, pick) : null;
  return [
    caption(show, shapeOf(show, scene, matrix)),
    above,
    heatmap({ ...about, row: band ? null : row, band, label: show.rows === 'stages' ? 108 : 76 }),
    legend(figure.scale, most),
  ];
}

function headNames(scene, pick) {
  const { kind } = scene;
  const names = Array.from({ length: scene.model.heads }, (_, head) => {
    const about = { type: 'button', 'aria-pressed': String(head === scene.head), title: t('lesson_head', { head: head + 1 }) };
    return make('button', { ...about, onclick: () => pick({ [kind]: { ...scene.look[kind], head } }) }, String(head + 1));
  });
  return make('div', { class: 'lesson-heads' }, ...names);
}

function square(figure, show, matrix, { scene, width, pick, all }) {
  const [rows, columns] = [rowsOf(show, scene, matrix.rows, all), columnsOf(scene, all)];
  const masked = figure.masked && scene.part === 0 ? (row, column) => column > row : null;
  const keys = scene.kind === 'encoder' ? scene.key : null;
  const shape = [
    [scene.model.heads, 'heads'],
    [matrix.rows, 'queries'],
    [matrix.columns, 'keys'],
  ];
  const about = { matrix, rows, columns, scale: figure.scale, most: mostOf(figure, matrix), row: scene.row, column: keys, masked };
  const sized = {
    width: Math.min(width, 84 + 54 * columns.places.length),
    height: 34,
    digits: figure.scale === 'share' ? 2 : 1,
    label: 84,
  };
  return [
    caption(show, shape),
    heatmap({ ...about, ...sized, name: t(`lesson_tensor_${show.name}`), pick: clickToPick(pick, scene, true) }),
  ];
}

const mostOf = (figure, matrix) => (figure.scale === 'share' ? 1 : maxAbs(matrix.numbers) || 1);
const legendOf = (figure, matrix) => {
  const made = legend(figure.scale, mostOf(figure, matrix));
  if (figure.masked) made.append(make('span', { class: 'sample' }, make('i', { class: 'hatch' }), t('cannot_look')));
  return made;
};

/** Stacked vectors of one row each; the last one, a product, has a separate scale. */
function drawStrips(figure, { scene, width }) {
  const shows = scene.visibleTensors(figure);
  const drawn = shows.map((show, place) => {
    const matrix = scene.matrix(show);
    const token = [scene.rows[scene.row].label, scene.columns[scene.key].label][place];
    const name = t(`lesson_row_${show.name}`, { token: token ?? '' });
    return heatmap({ matrix, width, name, rows: { names: [name], places: [0] }, most: maxAbs(matrix.numbers), height: 20, label: 128 });
  });
  return [make('div', { class: 'lesson-strips' }, ...drawn)];
}

/** Tensors that add up, or stand together: one scale for all. */
function drawStack(figure, { scene, width, pick, all }) {
  const shows = scene.visibleTensors(figure);
  const matrices = shows.map((show) => scene.matrix(show));
  const most = Math.max(...matrices.map(({ numbers }) => colourLimit(numbers)));
  const height = matrices.length > 2 ? THIN + 2 : THICK;
  const parts = shows.flatMap((show, place) => {
    const matrix = matrices[place];
    const sign = place ? figure.signs[place - 1] : null;
    const row = show.rows === 'one' ? 0 : show.rows === 'keys' ? null : scene.row;
    const rows = rowsOf(show, scene, matrix.rows, all);
    if (show.name === 'weighted') {
      const weights = rowOf(scene.tensorByName('weights'), scene.row);
      rows.names = rows.names.map((name, at) => `${formatSigned(weights[rows.places[at]], 2)} × ${name}`);
    }
    const about = {
      matrix,
      width,
      rows,
      most,
      height: show.rows === 'one' ? THICK : height,
      row,
      column: scene.step.picks.includes('dimension') ? Math.min(scene.look.dimension, matrix.columns - 1) : null,
    };
    const label = shows.some(({ name }) => name === 'weighted') ? 108 : 76;
    const chosen =
      show.rows === 'keys' ? (_, column) => pick({ dimension: column ?? scene.look.dimension }) : clickToPick(pick, scene, false);
    return [
      place ? make('div', { class: sign ? 'lesson-sign' : 'lesson-gap' }, sign ? t(`lesson_sign_${SIGNS[sign]}`) : '') : null,
      caption(show, shapeOf(show, scene, matrix)),
      heatmap({ ...about, label, name: t(`lesson_tensor_${show.name}`), pick: chosen }),
    ];
  });
  return [...parts, legend('signed', most)];
}

const SIGNS = { '+': 'plus', '=': 'equals', '×√d': 'times', '×w': 'weighed', norm: 'norm' };

/** Before and after, side by side with one scale, to show the change of magnitude. */
function drawPair(figure, { scene, width, pick, all }) {
  const shows = scene.visibleTensors(figure);
  const matrices = shows.map((show) => scene.matrix(show));
  const most = Math.max(...matrices.map(({ numbers }) => maxAbs(numbers)));
  const sides = shows.map((show, place) => {
    const columns = columnsOf(scene, all);
    const room = width > 560 ? (width - 24) / 2 : width;
    const about = {
      matrix: matrices[place],
      rows: rowsOf(show, scene, matrices[place].rows, all),
      columns,
      most,
      width: Math.min(room, 84 + 44 * columns.places.length),
    };
    const picture = heatmap({
      ...about,
      height: 30,
      digits: 1,
      row: scene.row,
      column: scene.key,
      label: 76,
      name: t(`lesson_tensor_${show.name}`),
      pick: clickToPick(pick, scene, true),
    });
    return make(
      'div',
      {},
      caption(show, [
        [matrices[place].rows, 'queries'],
        [matrices[place].columns, 'keys'],
      ]),
      picture,
    );
  });
  return [make('div', { class: 'lesson-pair' }, ...sides), legend('signed', most)];
}
