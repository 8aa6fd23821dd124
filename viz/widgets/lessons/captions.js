// Captions of a figure: title and shape, row and column labels, legend.

import { make } from '../core/dom.js';
import { formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { makeColourRamp } from '../parts/legend.js';
import { rowName, rowText } from '../parts/row-name.js';
import { argMax } from '../core/map-view.js';
import { maxAbs, rowNumbers } from './tensor-cache.js';

const TRUNCATED_LENGTH = 12; // tokens of a truncated sentence, around the selected one
const MAX_COMPLETE_LENGTH = 16; // tokens of a sentence that is not truncated
const MAX_STRETCH = 3; // maximum end of a legend, as a multiple of the number with the last colour
const MATRIX_FORMS = ['heat', 'stack', 'pair']; // figures with one row per token; only these are truncated

/** Title of a figure: its name and the tensor's shape with named axes. */
export function caption(show, shape) {
  const axes = shape.map(([count, name]) => [make('u', {}, String(count)), ` ${t(`lesson_axis_${name}`)}`]);
  const parts = axes.flatMap((axis, index) => (index ? [' · ', ...axis] : axis));
  return make('div', { class: 'lesson-caption' }, make('b', {}, t(`lesson_tensor_${show.name}`)), make('span', {}, '[', ...parts, ']'));
}

/** Title of a figure, with its size if it is a matrix. */
export function figureTitle(text, size = '') {
  return make('div', { class: 'lesson-caption' }, make('b', {}, text), size ? make('span', { class: 'numeric' }, size) : null);
}

/**
 * Names and indices of the visible rows of a tensor; a long sentence is truncated around the selected row. Rows of the
 * decoder have `elements`, too: the word read and the word written.
 */
export function rowNames(show, scene, count, all) {
  const labels = {
    tokens: () => scene.rowItems.map(rowText),
    keys: () => scene.columns.map(({ label }) => label),
    positions: () => Array.from({ length: count }, (_, index) => String(index)),
    stages: () =>
      Array.from({ length: count }, (_, index) => (index ? t('lesson_after_layer', { layer: index }) : t('lesson_at_the_door'))),
    one: () => [t(`lesson_row_${show.name}`)],
  }[show.rows]();
  const indices = show.rows === 'stages' || show.rows === 'one' ? [...labels.keys()] : indicesAround(labels.length, scene.row, all);
  const elements = show.rows === 'tokens' && scene.kind !== 'encoder' ? indices.map((index) => rowName(scene.rowItems[index])) : null;
  return { names: indices.map((index) => labels[index]), indices, ...(elements ? { elements } : {}) };
}

/** Names and indices of the visible columns: around the selected key, or the strongest key of the selected row. */
export function columnNames(scene, all, matrix) {
  const centre = scene.kind === 'encoder' ? scene.key : argMax(rowNumbers(matrix, scene.row));
  const indices = indicesAround(scene.columns.length, centre, all);
  return { names: indices.map((index) => scene.columns[index].label), indices };
}

function indicesAround(count, centre, all) {
  if (all || count <= MAX_COMPLETE_LENGTH) return Array.from({ length: count }, (_, index) => index);
  const start = Math.max(0, Math.min(count - TRUNCATED_LENGTH, centre - Math.floor(TRUNCATED_LENGTH / 2)));
  return Array.from({ length: TRUNCATED_LENGTH }, (_, index) => start + index);
}

/** Number of tokens, before truncation, on the longest side of a step's figures; 0 if none is truncated. */
export function countTruncatedTokens(scene) {
  const counts = { tokens: scene.rows.length, positions: scene.rows.length, keys: scene.columns.length };
  const matrices = scene.step.figures.filter(({ form }) => MATRIX_FORMS.includes(form));
  const sides = matrices.flatMap((figure) => {
    const rows = scene.visibleTensors(figure).map((tensor) => counts[tensor.rows] ?? 0);
    return figure.square ? [...rows, counts.keys] : rows;
  });
  const count = Math.max(0, ...sides);
  return count > MAX_COMPLETE_LENGTH ? count : 0;
}

/** Caption of a formula's numbers: their tokens and dimension; null if the step has none. */
export function formulaCaption(step, scene, values) {
  if (!step.about.length) return null;
  const isRow = scene.kind !== 'encoder'; // a row of the decoder is named by two tokens
  const tokens = step.about.map((name) => values[isRow && name === 'written' ? 'row' : name]).filter(Boolean);
  const parts = [isRow && tokens.length > 1 ? t('looks_at', { query: tokens[0], key: tokens[1] }) : tokens.join(' → ')];
  if (step.picks.includes('dimension')) parts.push(t('lesson_dimension', { number: scene.look.dimension }));
  return make('p', { class: 'about' }, make('b', {}, make('bdi', {}, parts.join(' · '))));
}

/** A note that names the sentence of a stored experiment; null if it is the visitor's sentence. */
export function storedNote({ result, translation }) {
  const sentence = result?.sentence;
  if (!sentence || sentence === translation.request.text) return null;
  return make('span', { class: 'quiet stored-note' }, t('lesson_stored_sentence', { sentence }));
}

/** The axes of a tensor for its title, [count, name]. */
export function shapeAxes(show, scene, matrix) {
  const rows = {
    tokens: scene.kind === 'encoder' ? 'tokens' : 'queries',
    keys: 'keys',
    positions: 'positions',
    stages: 'stages',
    one: null,
  }[show.rows];
  const heads = scene.step.picks.includes('head') && show.rows !== 'one' ? [[scene.model.heads, 'heads']] : [];
  return [...heads, ...(rows ? [[matrix.rows, rows]] : []), [matrix.columns, 'dimensions']];
}

/**
 * Colour legend of a scale. `limit`: the number with the last colour; `end`: the largest number, where the legend ends.
 */
export function legend(scale, limit, end = limit) {
  const isCut = end > MAX_STRETCH * limit; // a few outliers: the legend of all numbers would have two colours
  const [low, high] = legendEnds(scale, isCut ? limit : end);
  const ends = isCut ? [low === '0' ? low : `≤ ${low}`, `≥ ${high}`] : [low, high];
  const stretch = isCut ? 1 : end / limit;
  return make(
    'div',
    { class: 'lesson-legend' },
    makeColourRamp(scale === 'signed' ? 'difference' : 'headlight', ends[0], ends[1], stretch),
  );
}

/** The numbers at the ends of a legend. */
export function legendEnds(scale, end) {
  const digits = end < 10 ? 2 : 1;
  if (scale === 'signed') return [formatSigned(-end, digits), `+${end.toFixed(digits)}`];
  return ['0', Number.isInteger(end) ? String(end) : end.toFixed(2)];
}

/** Three quarters of the maximum: a few larger values saturate, and the others stay distinguishable. */
export const colourLimit = (numbers) => 0.75 * maxAbs(numbers) || 1;

/** Returns a click handler that selects a row, and a dimension or key. */
export const clickToPick = (pick, scene, square) => (row, column) => {
  const changes = {};
  if (row !== null) changes[scene.kind === 'encoder' ? 'token' : 'written'] = row;
  if (column !== null && !square) changes.dimension = column;
  if (column !== null && square && scene.kind === 'encoder') changes.key = column;
  pick(changes);
};
