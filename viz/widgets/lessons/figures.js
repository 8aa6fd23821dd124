// The few pictures of all lessons: heat, strip, stack, pair, table, bars, histogram, curve, and the tokens themselves.

import { make, svg } from '../core/dom.js';
import { four, minus, strongest, three } from '../core/view.js';
import { t } from '../core/words.js';
import { ramp } from '../parts/legend.js';
import { heat } from './heat.js';
import { largest, rowOf, softmax, sum } from './tensors.js';

const FEW = 12; // tokens around the chosen one, of a long sentence
const MANY = 16; // tokens that are all shown
const THICK = 22; // pixels of a row where there are few
const THIN = 15; // of three tensors above one another

/** @typedef {import('./scene.js').Scene} Scene */
/** @typedef {{ scene: Scene, width: number, pick: (changes: any) => void, all: boolean }} Drawing */

/** The pictures of a step, one below the other. */
export function drawFigures(drawing) {
  return drawing.scene.step.figures.flatMap((figure) => FORMS[figure.form](figure, drawing).filter(Boolean));
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

// ---------------------------------------------------------------- names and shapes

/** What stands above a picture: its name, and the tensor's shape with named axes. */
function caption(show, shape) {
  const axes = shape.map(([count, name]) => [make('u', {}, String(count)), ` ${t(`lesson_axis_${name}`)}`]);
  const inside = axes.flatMap((axis, place) => (place ? [' · ', ...axis] : axis));
  return make('div', { class: 'lesson-caption' }, make('b', {}, t(`lesson_tensor_${show.name}`)), make('span', {}, '[', ...inside, ']'));
}

/** Names of the rows of a show, of which a long sentence shows some around the chosen one. */
function rowsOf(show, scene, count, all) {
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

function columnsOf(scene, all) {
  const places = around(scene.columns.length, scene.kind === 'encoder' ? scene.key : scene.row, all);
  return { names: places.map((place) => scene.columns[place].label), places };
}

function around(count, chosen, all) {
  if (all || count <= MANY) return Array.from({ length: count }, (_, place) => place);
  const start = Math.max(0, Math.min(count - FEW, chosen - Math.floor(FEW / 2)));
  return Array.from({ length: FEW }, (_, place) => start + place);
}

/** Whether a step leaves out some of a long sentence. */
export const shortened = (scene) => Math.max(scene.rows.length, scene.columns.length) > MANY;

function shapeOf(show, scene, matrix) {
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

/** What the colours mean. */
function legend(scale, most) {
  const digits = most < 1 ? 2 : 1;
  const said =
    scale === 'signed'
      ? ramp('difference', minus(-most, digits), `+${most.toFixed(digits)}`)
      : ramp('headlight', '0', most === 1 ? '1' : most.toFixed(2));
  return make('div', { class: 'lesson-legend' }, said);
}

/** Three quarters of the largest number: the few beyond it are as dark as can be, and the rest can be told apart. */
const reach = (numbers) => 0.75 * largest(numbers) || 1;

/** A click on a picture chooses a row, and a dimension or key. */
const picks = (pick, scene, square) => (row, column) => {
  const changes = {};
  if (row !== null) changes[scene.kind === 'encoder' ? 'token' : 'written'] = row;
  if (column !== null && !square) changes.dimension = column;
  if (column !== null && square && scene.kind === 'encoder') changes.key = column;
  pick(changes);
};

// ---------------------------------------------------------------- matrices

function drawHeat(figure, { scene, width, pick, all }) {
  const [show] = scene.shows(figure);
  const matrix = scene.matrix(show);
  if (figure.square) return [...square(figure, show, matrix, { scene, width, pick, all }), legendOf(figure, matrix)];
  const most = figure.scale === 'share' ? 1 : reach(matrix.numbers);
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
    pick: picks(pick, scene, false),
  };
  const head = scene.head * scene.model.head_width;
  const band = figure.heads ? /** @type {[number, number]} */ ([head, head + scene.model.head_width]) : null;
  const above = figure.heads ? headNames(scene, pick) : null;
  return [
    caption(show, shapeOf(show, scene, matrix)),
    above,
    heat({ ...about, row: band ? null : row, band, label: show.rows === 'stages' ? 108 : 76 }),
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
  return [caption(show, shape), heat({ ...about, ...sized, name: t(`lesson_tensor_${show.name}`), pick: picks(pick, scene, true) })];
}

const mostOf = (figure, matrix) => (figure.scale === 'share' ? 1 : largest(matrix.numbers) || 1);
const legendOf = (figure, matrix) => {
  const made = legend(figure.scale, mostOf(figure, matrix));
  if (figure.masked) made.append(make('span', { class: 'sample' }, make('i', { class: 'hatch' }), t('cannot_look')));
  return made;
};

/** Vectors of one row each, above one another: the last has a scale of its own, as a product has. */
function drawStrips(figure, { scene, width }) {
  const shows = scene.shows(figure);
  const drawn = shows.map((show, place) => {
    const matrix = scene.matrix(show);
    const token = [scene.rows[scene.row].label, scene.columns[scene.key].label][place];
    const name = t(`lesson_row_${show.name}`, { token: token ?? '' });
    return heat({ matrix, width, name, rows: { names: [name], places: [0] }, most: largest(matrix.numbers), height: 20, label: 128 });
  });
  return [make('div', { class: 'lesson-strips' }, ...drawn)];
}

/** Tensors that add up, or stand together: one scale for all. */
function drawStack(figure, { scene, width, pick, all }) {
  const shows = scene.shows(figure);
  const matrices = shows.map((show) => scene.matrix(show));
  const most = Math.max(...matrices.map(({ numbers }) => reach(numbers)));
  const height = matrices.length > 2 ? THIN + 2 : THICK;
  const parts = shows.flatMap((show, place) => {
    const matrix = matrices[place];
    const sign = place ? figure.signs[place - 1] : null;
    const row = show.rows === 'one' ? 0 : show.rows === 'keys' ? null : scene.row;
    const rows = rowsOf(show, scene, matrix.rows, all);
    if (show.name === 'weighted') {
      const weights = rowOf(scene.named('weights'), scene.row);
      rows.names = rows.names.map((name, at) => `${minus(weights[rows.places[at]], 2)} × ${name}`);
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
    const chosen = show.rows === 'keys' ? (_, column) => pick({ dimension: column ?? scene.look.dimension }) : picks(pick, scene, false);
    return [
      place ? make('div', { class: sign ? 'lesson-sign' : 'lesson-gap' }, sign ? t(`lesson_sign_${SIGNS[sign]}`) : '') : null,
      caption(show, shapeOf(show, scene, matrix)),
      heat({ ...about, label, name: t(`lesson_tensor_${show.name}`), pick: chosen }),
    ];
  });
  return [...parts, legend('signed', most)];
}

const SIGNS = { '+': 'plus', '=': 'equals', '×√d': 'times', '×w': 'weighed', norm: 'norm' };

/** Before and after, side by side with one scale, so that one sees what the step does to the size. */
function drawPair(figure, { scene, width, pick, all }) {
  const shows = scene.shows(figure);
  const matrices = shows.map((show) => scene.matrix(show));
  const most = Math.max(...matrices.map(({ numbers }) => largest(numbers)));
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
    const picture = heat({
      ...about,
      height: 30,
      digits: 1,
      row: scene.row,
      column: scene.key,
      label: 76,
      name: t(`lesson_tensor_${show.name}`),
      pick: picks(pick, scene, true),
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

// ---------------------------------------------------------------- tokens, tables, bars

function drawTokens(_, { scene }) {
  const cards = scene.translation.source.map((token) => {
    const name = make('bdi', { class: token.special ? 'special' : '', lang: scene.translation.model.source }, token.label);
    return make('div', {}, name, make('span', { class: 'numeric' }, token.id.toLocaleString('en')));
  });
  return [make('div', { class: 'lesson-tokens' }, ...cards)];
}

/** One row of softmax by hand: scores, powers, their sum, shares; each part of the step brings one column. */
function drawTable(_, { scene, pick }) {
  const scores = rowOf(scene.sent('scores'), scene.row);
  const allowed = scene.allowed(scene.row);
  const powers = Array.from(scores, (each, place) => (!allowed || allowed[place] ? Math.exp(each) : 0));
  const total = sum(powers);
  const weights = softmax(scores, allowed);
  const best = strongest(weights);
  const { part } = scene;
  const head = ['key', 'score', 'power', 'weight'].map((name) =>
    make('th', { scope: 'col' }, make('b', {}, t(`lesson_column_${name}`)), t(`lesson_column_${name}_says`)),
  );
  const shown = (from, now, text) =>
    make('td', { class: `numeric${part < from ? ' later' : ''}${part === now ? ' now' : ''}` }, part < from ? '' : text);
  const lines = scene.columns.map(({ label }, place) => {
    const name = make('th', { scope: 'row' }, make('bdi', {}, label));
    const bar = make('i', { style: `width:${Math.max(1, 150 * weights[place])}px` });
    const cells = [shown(0, 0, minus(scores[place], 3)), shown(1, 1, sized(powers[place])), shown(3, 3, four(weights[place]))];
    const about = { class: place === best && part > 2 ? 'best' : '', onclick: () => pick({ key: place }) };
    return make('tr', about, name, ...cells, make('td', { class: 'bar', 'aria-hidden': 'true' }, part < 3 ? null : bar));
  });
  const foot = make(
    'tr',
    {},
    make('th', { scope: 'row' }, 'Σ'),
    make('td', {}),
    shown(2, 2, sized(total)),
    shown(3, 3, four(sum(weights))),
    make('td', { class: 'bar' }),
  );
  const table = make('table', { class: 'lesson-table', 'aria-label': t('lesson_tensor_weights') });
  table.append(
    make('thead', {}, make('tr', {}, ...head, make('td', { class: 'bar' }))),
    make('tbody', {}, ...lines),
    make('tfoot', {}, foot),
  );
  return [table];
}

const sized = (number) => (number >= 1e7 ? number.toExponential(3).replace('e+', ' · 10^') : three(number));

/** The most probable next tokens. */
function drawBars(_, { scene }) {
  const { best, log_sum: logSum } = scene.logits;
  const lines = best.map(([label, id, logit], place) => {
    const chance = Math.exp(logit - logSum);
    const bar = make('i', { class: place ? '' : 'first', style: `width:${Math.max(0.4, 100 * chance)}%` });
    const written = id === scene.translation.target[scene.look.written].id;
    return [
      make('bdi', { class: written ? 'written' : '' }, label),
      make('span', { class: 'track', 'aria-hidden': 'true' }, bar),
      make('span', { class: 'numeric' }, four(chance)),
    ];
  });
  return [make('div', { class: 'lesson-bars' }, ...lines.flat())];
}

const PLOT = { height: 216, floor: 184, top: 40 };

/** How many of all tokens have which logit; the best are named. */
function drawHistogram(_, { scene, width }) {
  const { counts, low, high, best } = scene.logits;
  const wide = Math.min(width, 680);
  const across = (value) => ((value - low) / (high - low)) * (wide - 24) + 4;
  const most = Math.sqrt(Math.max(...counts));
  const picture = svg('svg', {
    viewBox: `0 0 ${wide} ${PLOT.height}`,
    class: 'lesson-plot',
    role: 'img',
    'aria-label': t('lesson_tensor_logits'),
  });
  for (const [place, count] of counts.entries()) {
    if (!count) continue;
    const tall = Math.max(1.5, (Math.sqrt(count) / most) * (PLOT.floor - PLOT.top));
    const left = across(low + ((high - low) * place) / counts.length);
    picture.append(
      svg('rect', { x: left, y: PLOT.floor - tall, width: Math.max(1, (wide - 24) / counts.length - 1), height: tall, class: 'count' }),
    );
  }
  picture.append(svg('line', { x1: 0, x2: wide, y1: PLOT.floor + 0.5, y2: PLOT.floor + 0.5, class: 'rule' }));
  for (const value of ticks(low, high))
    picture.append(svg('text', { x: across(value), y: PLOT.floor + 18, 'text-anchor': 'middle' }, minus(value, 0)));
  const [label, , logit] = best[0];
  const x = across(logit);
  picture.append(svg('line', { x1: x, x2: x, y1: PLOT.top, y2: PLOT.floor, class: 'best' }));
  picture.append(
    svg('text', { x: Math.min(x, wide - 4), y: PLOT.top - 8, class: 'best', 'text-anchor': 'end' }, `${label} ${minus(logit, 2)}`),
  );
  picture.append(svg('text', { x: 0, y: 14 }, t('lesson_many_tokens')));
  const shape = [
    [scene.translation.target.length, 'tokens'],
    [scene.model.target_vocabulary.toLocaleString('en'), 'vocabulary'],
  ];
  const rows = best
    .slice(0, 5)
    .map(([name, , value]) => [make('bdi', {}, name), make('span', { class: 'numeric' }, four(value).replace('-', '−'))]);
  return [caption({ name: 'logits' }, shape), picture, make('div', { class: 'lesson-candidates' }, ...rows.flat())];
}

function ticks(low, high) {
  const step = high - low > 16 ? 5 : 2;
  return Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, place) => (Math.ceil(low / step) + place) * step);
}

/** Lines over one axis, each with its name. */
function drawCurve(figure, { scene, width }) {
  const wide = Math.min(width, 680);
  const matrices = scene.shows(figure).map((show) => scene.matrix(show));
  const most = Math.max(...matrices.map(({ numbers }) => largest(numbers))) || 1;
  const picture = svg('svg', {
    viewBox: `0 0 ${wide} ${PLOT.height}`,
    class: 'lesson-plot',
    role: 'img',
    'aria-label': t(`lesson_tensor_${figure.shows[0].name}`),
  });
  for (const [place, { numbers }] of matrices.entries()) {
    const points = Array.from(
      numbers,
      (value, at) =>
        `${((at / Math.max(1, numbers.length - 1)) * (wide - 8) + 4).toFixed(1)},${(PLOT.floor * (1 - value / most / 2) - PLOT.floor / 2 + PLOT.top / 2).toFixed(1)}`,
    );
    picture.append(svg('polyline', { points: points.join(' '), class: place ? 'line other' : 'line' }));
  }
  return [picture];
}
