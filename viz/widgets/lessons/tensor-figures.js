// Figures of tensors for all lessons: tokens, heat, strip, stack, pair, table, bars, histogram, curve.

import { make } from '../core/dom.js';
import { formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { caption, columnNames, legend, clickToPick, colourLimit, rowNames, shapeAxes } from './captions.js';
import { drawResult } from './result-figures.js';
import { heatmap } from './heatmap.js';
import { drawBars, drawCurve, drawHistogram, drawShift, drawTable, drawTokens } from './step-tables.js';
import { maxAbs, rowNumbers } from './tensor-cache.js';

const THICK = 22; // pixels per row in figures of one or two tensors
const LABEL = 84; // pixels of a row's name
const PAIR_LABEL = 156; // pixels of a row's name with an input and an output token
const THIN = 15; // pixels per row in stacks of three or more tensors

/** @typedef {import('./step-scene.js').StepScene} Scene */
/** @typedef {{ scene: Scene, width: number, pick: (changes: any) => void, all: boolean, training: any }} Drawing */

/** Figures of a step: first of its tensors, then of its experiment. */
export function drawFigures(drawing) {
  const { step, result } = drawing.scene;
  const figures = step.figures.flatMap((figure) => DRAW_BY_FORM[figure.form](figure, drawing).filter(Boolean));
  return result ? [...figures, ...drawResult(result, { lesson: step.lesson, width: drawing.width, training: drawing.training })] : figures;
}

const DRAW_BY_FORM = {
  tokens: drawTokens,
  heat: drawHeat,
  strip: drawStrips,
  stack: drawStack,
  pair: drawPair,
  table: drawTable,
  bars: drawBars,
  histogram: drawHistogram,
  curve: drawCurve,
  shift: drawShift,
};

// ---------------------------------------------------------------- matrices

function drawHeat(figure, { scene, width, pick, all }) {
  const [tensor] = scene.visibleTensors(figure);
  const matrix = scene.matrix(tensor);
  if (figure.square) return [...square(figure, tensor, matrix, { scene, width, pick, all }), makeLegend(figure, matrix, scene.part === 0)];
  const maxValue = figure.scale === 'share' ? 1 : colourLimit(matrix.numbers);
  const rows = rowNames(tensor, scene, matrix.rows, all);
  const selectedRow = ['stages', 'one'].includes(tensor.rows) ? null : scene.row;
  const options = {
    matrix,
    width,
    rows,
    scale: figure.scale,
    most: maxValue,
    height: THICK,
    row: selectedRow,
    column:
      scene.step.picks.includes('dimension') && !figure.heads && selectedRow !== null
        ? Math.min(scene.look.dimension, matrix.columns - 1)
        : null,
    name: t(`lesson_tensor_${tensor.name}`),
    pick: clickToPick(pick, scene, false),
  };
  const head = scene.head * scene.model.head_width;
  const band = figure.heads ? /** @type {[number, number]} */ ([head, head + scene.model.head_width]) : null;
  const headButtons = figure.heads ? headNames(scene, pick) : null;
  return [
    caption(tensor, shapeAxes(tensor, scene, matrix)),
    headButtons,
    heatmap({ ...options, row: band ? null : selectedRow, band, label: tensor.rows === 'stages' ? 108 : 76 }),
    legend(figure.scale, maxValue, figure.scale === 'share' ? 1 : maxAbs(matrix.numbers) || maxValue),
  ];
}

function headNames(scene, pick) {
  const { kind } = scene;
  const buttons = Array.from({ length: scene.model.heads }, (_, head) => {
    const attributes = { type: 'button', 'aria-pressed': String(head === scene.head), title: t('lesson_head', { head: head + 1 }) };
    return make('button', { ...attributes, onclick: () => pick({ [kind]: { ...scene.look[kind], head } }) }, String(head + 1));
  });
  return make('div', { class: 'lesson-heads' }, ...buttons);
}

function square(figure, show, matrix, { scene, width, pick, all }) {
  const [rows, columns] = [rowNames(show, scene, matrix.rows, all), columnNames(scene, all, matrix)];
  const masked = figure.masked && scene.part === 0 ? (row, column) => column > row : null;
  const selectedKey = scene.kind === 'encoder' ? scene.key : null;
  const shape = [
    [scene.model.heads, 'heads'],
    [matrix.rows, 'queries'],
    [matrix.columns, 'keys'],
  ];
  const options = {
    matrix,
    rows,
    columns,
    scale: figure.scale,
    most: maxValue(figure, matrix),
    row: scene.row,
    column: selectedKey,
    masked,
  };
  const label = rows.elements ? Math.min(PAIR_LABEL, width / 3) : LABEL;
  const size = {
    width: Math.min(width, label + 54 * columns.indices.length),
    height: 34,
    digits: figure.scale === 'share' ? 2 : 1,
    label,
  };
  return [
    caption(show, shape),
    heatmap({ ...options, ...size, name: t(`lesson_tensor_${show.name}`), pick: clickToPick(pick, scene, true) }),
  ];
}

const maxValue = (figure, matrix) => (figure.scale === 'share' ? 1 : maxAbs(matrix.numbers) || 1);
const makeLegend = (figure, matrix, hides) => {
  const element = legend(figure.scale, maxValue(figure, matrix));
  if (figure.masked && hides) element.append(make('span', { class: 'sample' }, make('i', { class: 'hatch' }), t('cannot_look')));
  return element;
};

/** Stacked vectors, each with its own scale. */
function drawStrips(figure, { scene, width }) {
  const tensors = scene.visibleTensors(figure);
  const heatmaps = tensors.map((tensor, index) => {
    const matrix = scene.matrix(tensor);
    const token = [scene.rows[scene.row].label, scene.columns[scene.key].label][index];
    const name = t(`lesson_row_${tensor.name}`, { token: token ?? '' });
    return heatmap({ matrix, width, name, rows: { names: [name], indices: [0] }, most: maxAbs(matrix.numbers), height: 20, label: 128 });
  });
  return [make('div', { class: 'lesson-strips' }, ...heatmaps)];
}

/** Stacked tensors with signs between them, on a common scale, except for those with `own_scale`. */
function drawStack(figure, { scene, width, pick, all }) {
  const tensors = scene.visibleTensors(figure);
  const matrices = tensors.map((tensor) => scene.matrix(tensor));
  const common = matrices.filter((_, index) => !tensors[index].own_scale);
  const maxValue = Math.max(...common.map(({ numbers }) => colourLimit(numbers)));
  const height = matrices.length > 2 ? THIN + 2 : THICK;
  const parts = tensors.flatMap((tensor, index) => {
    const matrix = matrices[index];
    const sign = index ? figure.signs[index - 1] : null;
    const row = tensor.rows === 'one' ? 0 : tensor.rows === 'keys' ? null : scene.row;
    const rows = rowNames(tensor, scene, matrix.rows, all);
    if (tensor.name === 'weighted') {
      const weights = rowNumbers(scene.tensorByName('weights'), scene.row);
      rows.names = rows.names.map((name, index) => `${formatSigned(weights[rows.indices[index]], 2)} × ${name}`);
    }
    const options = {
      matrix,
      width,
      rows,
      most: tensor.own_scale ? maxAbs(matrix.numbers) || 1 : maxValue,
      height: tensor.rows === 'one' ? THICK : height,
      row,
      column: scene.step.picks.includes('dimension') ? Math.min(scene.look.dimension, matrix.columns - 1) : null,
    };
    const label = tensors.some(({ name }) => name === 'weighted') ? 108 : 76;
    const onPick =
      tensor.rows === 'keys' ? (_, column) => pick({ dimension: column ?? scene.look.dimension }) : clickToPick(pick, scene, false);
    return [
      index ? make('div', { class: sign ? 'lesson-sign' : 'lesson-gap' }, sign ? t(`lesson_sign_${SIGNS[sign]}`) : '') : null,
      caption(tensor, shapeAxes(tensor, scene, matrix)),
      heatmap({ ...options, label, name: t(`lesson_tensor_${tensor.name}`), pick: onPick }),
      tensor.own_scale ? legend('signed', options.most) : null,
    ];
  });
  return [...parts, legend('signed', maxValue, Math.max(...common.map(({ numbers }) => maxAbs(numbers))) || maxValue)];
}

const SIGNS = { '+': 'plus', '=': 'equals', '×√d': 'times', '×w': 'weighed', norm: 'norm' };

/** Tensors side by side on a common scale, to show a change of magnitude. */
function drawPair(figure, { scene, width, pick, all }) {
  const tensors = scene.visibleTensors(figure);
  const matrices = tensors.map((tensor) => scene.matrix(tensor));
  const maxValue = Math.max(...matrices.map(({ numbers }) => maxAbs(numbers)));
  const sides = tensors.map((tensor, index) => {
    const columns = columnNames(scene, all, matrices[index]);
    const availableWidth = width > 560 ? (width - 24) / 2 : width;
    const options = {
      matrix: matrices[index],
      rows: rowNames(tensor, scene, matrices[index].rows, all),
      columns,
      most: maxValue,
      width: Math.min(availableWidth, 84 + 44 * columns.indices.length),
    };
    const map = heatmap({
      ...options,
      height: 30,
      digits: 1,
      row: scene.row,
      column: scene.key,
      label: 76,
      name: t(`lesson_tensor_${tensor.name}`),
      pick: clickToPick(pick, scene, true),
    });
    return make(
      'div',
      {},
      caption(tensor, [
        [matrices[index].rows, 'queries'],
        [matrices[index].columns, 'keys'],
      ]),
      map,
    );
  });
  return [make('div', { class: 'lesson-pair' }, ...sides), legend('signed', maxValue)];
}
