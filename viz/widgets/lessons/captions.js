// Captions of a figure: title and shape, row and column labels, legend.

import { make } from '../core/dom.js';
import { formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { colourRamp } from '../parts/legend.js';
import { maxAbs } from './tensor-cache.js';

const SHOWN_AROUND = 12; // tokens around the chosen one, of a long sentence
const SHOW_ALL_UP_TO = 16; // tokens that are all shown
const MATRICES = ['heat', 'stack', 'pair']; // forms with a row for each token; others show all tokens in another way, or one alone

/** Title of a figure: its name, and the tensor's shape with named axes. */
export function caption(show, shape) {
  const axes = shape.map(([count, name]) => [make('u', {}, String(count)), ` ${t(`lesson_axis_${name}`)}`]);
  const inside = axes.flatMap((axis, place) => (place ? [' · ', ...axis] : axis));
  return make('div', { class: 'lesson-caption' }, make('b', {}, t(`lesson_tensor_${show.name}`)), make('span', {}, '[', ...inside, ']'));
}

/** Title of a figure, with its size if it is a matrix. */
export function figureTitle(text, size = '') {
  return make('div', { class: 'lesson-caption' }, make('b', {}, text), size ? make('span', { class: 'numeric' }, size) : null);
}

/** Names of the rows of a show, of which a long sentence shows some around the chosen one. */
export function rowsOf(show, scene, count, all) {
  const labels = {
    tokens: () => scene.rows.map(({ label }) => label),
    keys: () => scene.columns.map(({ label }) => label),
    positions: () => Array.from({ length: count }, (_, place) => String(place)),
    stages: () =>
      Array.from({ length: count }, (_, place) => (place ? t('lesson_after_layer', { layer: place }) : t('lesson_at_the_door'))),
    one: () => [t(`lesson_row_${show.name}`)],
  }[show.rows]();
  const places = show.rows === 'stages' || show.rows === 'one' ? [...labels.keys()] : around(labels.length, scene.row, all);
  return { names: places.map((place) => labels[place]), places };
}

export function columnsOf(scene, all) {
  const places = around(scene.columns.length, scene.kind === 'encoder' ? scene.key : scene.row, all);
  return { names: places.map((place) => scene.columns[place].label), places };
}

function around(count, chosen, all) {
  if (all || count <= SHOW_ALL_UP_TO) return Array.from({ length: count }, (_, place) => place);
  const start = Math.max(0, Math.min(count - SHOWN_AROUND, chosen - Math.floor(SHOWN_AROUND / 2)));
  return Array.from({ length: SHOWN_AROUND }, (_, place) => start + place);
}

/** Of how many tokens a step's pictures show some alone: the most along any side that is cut; 0 where all are shown. */
export function truncatedFrom(scene) {
  const counts = { tokens: scene.rows.length, positions: scene.rows.length, keys: scene.columns.length };
  const matrices = scene.step.figures.filter(({ form }) => MATRICES.includes(form));
  const sides = matrices.flatMap((figure) => {
    const rows = scene.visibleTensors(figure).map((show) => counts[show.rows] ?? 0);
    return figure.square ? [...rows, counts.keys] : rows;
  });
  const most = Math.max(0, ...sides);
  return most > SHOW_ALL_UP_TO ? most : 0;
}

export function shapeOf(show, scene, matrix) {
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

/** Legend of the colours. */
export function legend(scale, most) {
  const digits = most < 1 ? 2 : 1;
  const said =
    scale === 'signed'
      ? colourRamp('difference', formatSigned(-most, digits), `+${most.toFixed(digits)}`)
      : colourRamp('headlight', '0', most === 1 ? '1' : most.toFixed(2));
  return make('div', { class: 'lesson-legend' }, said);
}

/** Three quarters of the maximum: the few larger values saturate, and the others stay distinguishable. */
export const colourLimit = (numbers) => 0.75 * maxAbs(numbers) || 1;

/** A click on a picture chooses a row, and a dimension or key. */
export const clickToPick = (pick, scene, square) => (row, column) => {
  const changes = {};
  if (row !== null) changes[scene.kind === 'encoder' ? 'token' : 'written'] = row;
  if (column !== null && !square) changes.dimension = column;
  if (column !== null && square && scene.kind === 'encoder') changes.key = column;
  pick(changes);
};
