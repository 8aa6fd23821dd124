// What an experiment found, as pictures: heat, lines, bars, tables and texts, the same for all lessons.

import { make } from '../core/dom.js';
import { languageTag } from '../core/language-tags.js';
import { legend, colourLimit, figureTitle } from './captions.js';
import { heatmap } from './heatmap.js';
import { labelText } from './labels.js';
import { drawLines } from './line-plot.js';
import { sourceBox } from './source-listing.js';
import { decodeArray } from '../core/base64-arrays.js';

const ROW = { named: 22, read: 30, bare: 12 }; // pixels of a row: with a name, with numbers in it, without either
const BARE_ROW_HEIGHT = 9; // of a non-square one without labels
const LABEL_WIDTH = 96; // pixels of the row labels
const WIDEST = 54; // pixels of a cell with a name above it
const GAP = 24; // pixels between two pictures side by side
const NARROW = { large: 260, small: 140 }; // minimum width of side-by-side figures in pixels
const MOST = 4; // small ones in a row

/**
 * @typedef {{ lesson: string, width: number, training: import('./training-view.js').TrainingView, small?: boolean }} About `small`: its legend
 *   stands below all of them
 */

/** The figures of a result, below each other. */
export const drawResult = (found, about) => found.figures.map((figure) => resultFigure(figure, about));

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
  const said = (labels, count) => ({
    names: labels.map((label) => labelText(lesson, label)),
    places: Array.from({ length: count }, (_, place) => place),
  });
  const room = columns.length && !bare ? Math.min(width, LABEL_WIDTH + WIDEST * shape[1]) : width;
  const largest = most || (scale === 'share' ? 1 : colourLimit(cells));
  const drawn = heatmap({
    ...{ matrix, name, scale, digits, row, column, most: largest, width: room },
    rows: said(rows, shape[0]),
    columns: columns.length ? said(columns, shape[1]) : null,
    ...{ bare, label: bare ? 0 : LABEL_WIDTH },
    height: heightOf({ rows, digits, bare }, shape, room),
  });
  return [figureTitle(name, `${shape[0]} × ${shape[1]}`), drawn, small ? null : legend(scale, largest)];
}

/** Pixels of a row. */
function heightOf({ rows, digits, bare }, [down, across], room) {
  if (bare) return down === across ? room / across : BARE_ROW_HEIGHT;
  if (digits) return ROW.read;
  return rows.length ? ROW.named : Math.max(2, Math.min(ROW.bare, Math.round(240 / down)));
}

function drawSideBySide({ parts, small }, about) {
  const fit = Math.floor((about.width + GAP) / (NARROW[small ? 'small' : 'large'] + GAP));
  const count = Math.max(1, Math.min(parts.length, fit, small ? MOST : parts.length));
  const width = Math.min(Math.floor((about.width - GAP * (count - 1)) / count), small ? 2 * NARROW.small : about.width);
  const pictures = parts.map((part) => resultFigure(part, { ...about, width, small }));
  const [first] = parts;
  const shared = small && first.form === 'heat' ? legend(first.scale, first.scale === 'share' ? 1 : first.max_abs) : null;
  return [make('div', { class: 'lesson-beside', style: `--part:${width}px` }, ...pictures), shared];
}

/** From zero to the right; where some are negative, zero stands in the middle. */
function drawBars({ title, names, values, says, most, highlighted: lit }, { lesson }) {
  const largest = most || Math.max(...values.map(Math.abs)) || 1;
  const both = values.some((value) => value < 0);
  const lines = values.flatMap((value, place) => {
    const share = Math.min(1, Math.abs(value) / largest) * (both ? 50 : 100);
    const left = both ? (value < 0 ? 50 - share : 50) : 0;
    const name = labelText(lesson, names[place]);
    const classes = `${lit.includes(place) ? 'lit' : ''}${value < 0 ? ' below' : ''}`;
    return [
      make('bdi', { class: lit.includes(place) ? 'written' : '', title: name }, name),
      make(
        'span',
        { class: 'track', 'aria-hidden': 'true' },
        make('i', { class: classes, style: `left:${left}%;width:${Math.max(0.4, share)}%` }),
      ),
      make('span', { class: 'numeric' }, says[place]),
    ];
  });
  return [figureTitle(labelText(lesson, title)), make('div', { class: `lesson-bars placed${both ? ' both' : ''}` }, ...lines)];
}

function drawTable({ title, columns, rows, highlighted_row: lit }, { lesson }) {
  const name = labelText(lesson, title);
  const cell = (value, place) => {
    const text = make('bdi', {}, labelText(lesson, value));
    return place
      ? make('td', { class: 'numeric', data: { of: labelText(lesson, columns[place]) } }, text)
      : make('th', { scope: 'row' }, text);
  };
  const head = make('tr', {}, ...columns.map((label) => make('th', { scope: 'col' }, labelText(lesson, label))));
  const lines = rows.map((cells, place) => make('tr', { class: place === lit ? 'best' : '' }, ...cells.map(cell)));
  const table = make('table', { class: 'lesson-table wraps', 'aria-label': name }, make('thead', {}, head), make('tbody', {}, ...lines));
  return [figureTitle(name), table];
}

function drawSources({ sources }, { lesson }) {
  return sources.flatMap(({ title, code, says }) => {
    const below = labelText(lesson, says);
    return [figureTitle(labelText(lesson, title)), sourceBox(code, []), below ? make('p', { class: 'quiet' }, below) : null];
  });
}

function drawTexts({ texts }, { lesson }) {
  const sides = texts.map(({ name, text, says, language }) => {
    const about = language ? { lang: languageTag(language) } : {};
    const below = labelText(lesson, says);
    return make(
      'div',
      {},
      figureTitle(labelText(lesson, name)),
      make('p', { class: 'text', ...about }, make('bdi', {}, labelText(lesson, text))),
      below ? make('p', { class: 'quiet numeric' }, below) : null,
    );
  });
  return [make('div', { class: 'lesson-texts' }, ...sides)];
}
