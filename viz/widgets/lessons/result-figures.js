// Figures of an experiment's result: heat maps, lines, bars, tables, texts, training runs and sources.

import { make } from '../core/dom.js';
import { languageTag } from '../core/language-tags.js';
import { legend, colourLimit, figureTitle } from './captions.js';
import { heatmap } from './heatmap.js';
import { labelText } from './labels.js';
import { drawLines } from './line-plot.js';
import { sourceBox } from './source-listing.js';
import { decodeArray } from '../core/base64-arrays.js';

const ROW = { named: 22, read: 30, bare: 12 }; // pixels per row: with labels, with numbers in the cells, with neither
const BARE_ROW_HEIGHT = 9; // pixels per row of a non-square matrix without labels
const LABEL_WIDTH = 96; // pixels of the row labels
const WIDEST = 54; // maximum width in pixels of a cell with a column label
const GAP = 24; // pixels between figures side by side
const NARROW = { large: 260, small: 140 }; // minimum width in pixels of figures side by side
const MOST = 4; // maximum number of small figures per row

/**
 * @typedef {{ lesson: string, width: number, training: import('./training-view.js').TrainingView, small?: boolean }} About
 *   `small`: without a legend, because small figures share one
 */

/** Stacked figures of a result. */
export const drawResult = (result, about) => result.figures.map((figure) => resultFigure(figure, about));

function resultFigure(figure, about) {
  return make('div', { class: 'lesson-found' }, ...FORMS[figure.form](figure, about).filter(Boolean));
}

const FORMS = {
  heat: drawHeat,
  beside: drawSideBySide,
  lines: drawLines,
  bars: drawBars,
  table: drawTable,
  texts: drawTexts,
  trains: (figure, { training }) => [training.show(figure)],
  sources: drawSources,
};

function drawHeat(
  { title, numbers, rows, columns, scale, max_abs: most, digits, row, column, without_labels: bare },
  { lesson, width, small },
) {
  const { shape, numbers: cells } = decodeArray(numbers);
  const matrix = { rows: shape[0], columns: shape[1], numbers: cells };
  const name = labelText(lesson, title);
  const axisLabels = (labels, count) => ({
    names: labels.map((label) => labelText(lesson, label)),
    places: Array.from({ length: count }, (_, index) => index),
  });
  const availableWidth = columns.length && !bare ? Math.min(width, LABEL_WIDTH + WIDEST * shape[1]) : width;
  const maxValue = most || (scale === 'share' ? 1 : colourLimit(cells));
  const map = heatmap({
    ...{ matrix, name, scale, digits, row, column, most: maxValue, width: availableWidth },
    rows: axisLabels(rows, shape[0]),
    columns: columns.length ? axisLabels(columns, shape[1]) : null,
    ...{ bare, label: bare ? 0 : LABEL_WIDTH },
    height: figureHeight({ rows, digits, bare }, shape, availableWidth),
  });
  return [figureTitle(name, `${shape[0]} × ${shape[1]}`), map, small ? null : legend(scale, maxValue)];
}

/** Height of a row in pixels. */
function figureHeight({ rows, digits, bare }, [down, across], room) {
  if (bare) return down === across ? room / across : BARE_ROW_HEIGHT;
  if (digits) return ROW.read;
  return rows.length ? ROW.named : Math.max(2, Math.min(ROW.bare, Math.round(240 / down)));
}

function drawSideBySide({ parts, small }, about) {
  const fittingCount = Math.floor((about.width + GAP) / (NARROW[small ? 'small' : 'large'] + GAP));
  const count = Math.max(1, Math.min(parts.length, fittingCount, small ? MOST : parts.length));
  const width = Math.min(Math.floor((about.width - GAP * (count - 1)) / count), small ? 2 * NARROW.small : about.width);
  const pictures = parts.map((part) => resultFigure(part, { ...about, width, small }));
  const [first] = parts;
  const commonLegend = small && first.form === 'heat' ? legend(first.scale, first.scale === 'share' ? 1 : first.max_abs) : null;
  return [make('div', { class: 'lesson-beside', style: `--part:${width}px` }, ...pictures), commonLegend];
}

/** Horizontal bars from zero, which is in the middle if some values are negative. */
function drawBars({ title, names, values, says, most, highlighted: lit }, { lesson }) {
  const maxValue = most || Math.max(...values.map(Math.abs)) || 1;
  const hasNegative = values.some((value) => value < 0);
  const rows = values.flatMap((value, index) => {
    const share = Math.min(1, Math.abs(value) / maxValue) * (hasNegative ? 50 : 100);
    const left = hasNegative ? (value < 0 ? 50 - share : 50) : 0;
    const name = labelText(lesson, names[index]);
    const classes = `${lit.includes(index) ? 'lit' : ''}${value < 0 ? ' below' : ''}`;
    return [
      make('bdi', { class: lit.includes(index) ? 'written' : '', title: name }, name),
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

function drawTable({ title, columns, rows, highlighted_row: lit }, { lesson }) {
  const name = labelText(lesson, title);
  const cell = (value, index) => {
    const text = make('bdi', {}, labelText(lesson, value));
    return index
      ? make('td', { class: 'numeric', data: { of: labelText(lesson, columns[index]) } }, text)
      : make('th', { scope: 'row' }, text);
  };
  const head = make('tr', {}, ...columns.map((label) => make('th', { scope: 'col' }, labelText(lesson, label))));
  const bodyRows = rows.map((cells, index) => make('tr', { class: index === lit ? 'best' : '' }, ...cells.map(cell)));
  const table = make('table', { class: 'lesson-table wraps', 'aria-label': name }, make('thead', {}, head), make('tbody', {}, ...bodyRows));
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
