// Figures of an experiment's result: heat maps, lines, bars, tables, texts, training runs, sources, worked examples.

import { make } from '../core/dom.js';
import { languageTag } from '../core/language-tags.js';
import { legend, colourLimit, figureTitle } from './captions.js';
import { heatmap } from './heatmap.js';
import { labelText } from './labels.js';
import { drawLines } from './line-plot.js';
import { sourceBox } from './source-listing.js';
import { drawBlocks, drawCircle, drawMatrices } from './worked-figures.js';
import { decodeArray } from '../core/base64-arrays.js';
import { maxAbs as largest } from './tensor-cache.js';

// Sizes in pixels.
const MANY_ROWS = 24;
const ROW_HEIGHT = { labels: 22, many: 14, numbers: 30, plain: 12 }; // with labels, with numbers in the cells, with neither
const BARE_ROW_HEIGHT = 9; // in a non-square matrix without labels
const LABEL_WIDTH = 96; // of the row labels
const MAX_SHORT_LABEL = 12; // characters that fit into `LABEL_WIDTH`
const LONG_LABEL_WIDTH = 150; // of longer row labels, such as those with an input and an output token
const MAX_CELL_WIDTH = 54; // of a cell with a column label
const GAP = 24; // between figures side by side
const MIN_FIGURE_WIDTH = { large: 260, small: 140 }; // of figures side by side
const MAX_SMALL_PER_ROW = 4;

/**
 * @typedef {{ lesson: string, width: number, training: import('./training-view.js').TrainingView, small?: boolean }} FigureContext
 *   `small`: without a legend, because small figures share one
 */

/** Draw the figures of a result, one below the other. */
export const drawResult = (result, context) => result.figures.map((figure) => resultFigure(figure, context));

function resultFigure(figure, context) {
  return make('div', { class: 'lesson-found' }, ...DRAW_BY_FORM[figure.form](figure, context).filter(Boolean));
}

const DRAW_BY_FORM = {
  heat: drawHeat,
  beside: drawSideBySide,
  lines: drawLines,
  bars: drawBars,
  table: drawTable,
  texts: drawTexts,
  trains: (figure, { training }) => [training.show(figure)],
  sources: drawSources,
  circle: drawCircle,
  matrices: drawMatrices,
  blocks: drawBlocks,
};

function drawHeat(
  { title, numbers, rows, columns, scale, max_abs: maxAbs, digits, row, column, without_labels: bare },
  { lesson, width, small },
) {
  const { shape, numbers: cells } = decodeArray(numbers);
  const matrix = { rows: shape[0], columns: shape[1], numbers: cells };
  const name = labelText(lesson, title);
  const axisLabels = (labels, count) => ({
    names: labels.map((label) => labelText(lesson, label)),
    indices: Array.from({ length: count }, (_, index) => index),
  });
  const isLong = rows.some((label) => labelText(lesson, label).length > MAX_SHORT_LABEL);
  const labelWidth = isLong ? Math.min(LONG_LABEL_WIDTH, width / 3) : LABEL_WIDTH;
  const availableWidth = columns.length && !bare ? Math.min(width, labelWidth + MAX_CELL_WIDTH * shape[1]) : width;
  const maxValue = maxAbs || (scale === 'share' ? 1 : colourLimit(cells));
  const map = heatmap({
    ...{ matrix, name, scale, digits, row, column, most: maxValue, width: availableWidth },
    rows: axisLabels(rows, shape[0]),
    columns: columns.length ? axisLabels(columns, shape[1]) : null,
    ...{ bare, label: bare ? 0 : labelWidth },
    height: rowHeight({ rows, digits, bare }, shape, availableWidth),
  });
  return [
    figureTitle(name, `${shape[0]} × ${shape[1]}`),
    map,
    small ? null : legend(scale, maxValue, scale === 'share' ? 1 : Math.max(maxValue, largest(cells))),
  ];
}

function rowHeight({ rows, digits, bare }, [rowCount, columnCount], availableWidth) {
  if (bare) return rowCount === columnCount ? availableWidth / columnCount : BARE_ROW_HEIGHT;
  if (digits) return ROW_HEIGHT.numbers;
  if (rows.length > MANY_ROWS) return ROW_HEIGHT.many;
  return rows.length ? ROW_HEIGHT.labels : Math.max(2, Math.min(ROW_HEIGHT.plain, Math.round(240 / rowCount)));
}

function drawSideBySide({ parts, small }, context) {
  const fittingCount = Math.floor((context.width + GAP) / (MIN_FIGURE_WIDTH[small ? 'small' : 'large'] + GAP));
  const count = Math.max(1, Math.min(parts.length, fittingCount, small ? MAX_SMALL_PER_ROW : parts.length));
  const width = Math.min(Math.floor((context.width - GAP * (count - 1)) / count), small ? 2 * MIN_FIGURE_WIDTH.small : context.width);
  const figures = parts.map((part) => resultFigure(part, { ...context, width, small }));
  const [first] = parts;
  const commonLegend = small && first.form === 'heat' ? legend(first.scale, first.scale === 'share' ? 1 : first.max_abs) : null;
  return [make('div', { class: 'lesson-beside', style: `--part:${width}px` }, ...figures), commonLegend];
}

/** Horizontal bars from zero, which is in the middle if some values are negative. */
function drawBars({ title, names, values, says, most: limit, highlighted }, { lesson }) {
  const maxValue = limit || Math.max(...values.map(Math.abs)) || 1;
  const hasNegative = values.some((value) => value < 0);
  const rows = values.flatMap((value, index) => {
    const share = Math.min(1, Math.abs(value) / maxValue) * (hasNegative ? 50 : 100);
    const left = hasNegative ? (value < 0 ? 50 - share : 50) : 0;
    const name = labelText(lesson, names[index]);
    const classes = `${highlighted.includes(index) ? 'lit' : ''}${value < 0 ? ' below' : ''}`;
    return [
      make('bdi', { class: highlighted.includes(index) ? 'written' : '', title: name }, name),
      make(
        'span',
        { class: 'track', 'aria-hidden': 'true' },
        make('i', { class: classes, style: `left:${left}%;width:${Math.max(0.4, share)}%` }),
      ),
      make('span', { class: 'numeric' }, says[index]),
    ];
  });
  return [figureTitle(labelText(lesson, title)), make('div', { class: `lesson-bars placed${hasNegative ? ' both' : ''}` }, ...rows)];
}

function drawTable({ title, columns, rows, highlighted_row: highlightedRow }, { lesson }) {
  const name = labelText(lesson, title);
  const cell = (value, index) => {
    const text = make('bdi', {}, labelText(lesson, value));
    return index
      ? make('td', { class: 'numeric', data: { of: labelText(lesson, columns[index]) } }, text)
      : make('th', { scope: 'row' }, text);
  };
  const header = make('tr', {}, ...columns.map((label) => make('th', { scope: 'col' }, labelText(lesson, label))));
  const bodyRows = rows.map((cells, index) => make('tr', { class: index === highlightedRow ? 'best' : '' }, ...cells.map(cell)));
  const table = make(
    'table',
    { class: 'lesson-table wraps', 'aria-label': name },
    make('thead', {}, header),
    make('tbody', {}, ...bodyRows),
  );
  return [figureTitle(name), table];
}

function drawSources({ sources }, { lesson }) {
  return sources.flatMap(({ title, code, says }) => {
    const caption = labelText(lesson, says);
    return [figureTitle(labelText(lesson, title)), sourceBox(code, []), caption ? make('p', { class: 'quiet' }, caption) : null];
  });
}

function drawTexts({ texts }, { lesson }) {
  const sides = texts.map(({ name, text, says, language }) => {
    const attributes = language ? { lang: languageTag(language) } : {};
    const caption = labelText(lesson, says);
    return make(
      'div',
      {},
      figureTitle(labelText(lesson, name)),
      make('p', { class: 'text', ...attributes }, make('bdi', {}, labelText(lesson, text))),
      caption ? make('p', { class: 'quiet numeric' }, caption) : null,
    );
  });
  return [make('div', { class: 'lesson-texts' }, ...sides)];
}
