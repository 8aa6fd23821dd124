// What an experiment found, as pictures: heat, lines, bars, tables and texts, the same for all lessons.

import { make } from '../core/dom.js';
import { languageTag } from '../core/tags.js';
import { legend, reach, titled } from './captions.js';
import { heat } from './heat.js';
import { labelOf } from './labels.js';
import { drawLines } from './plots.js';
import { sourceBox } from './source.js';
import { unpacked } from '../core/packed.js';

const ROW = { named: 22, read: 30, bare: 12 }; // pixels of a row: with a name, with numbers in it, without either
const FLAT = 9; // of a non-square one without labels
const ASIDE = 96; // pixels of the row labels
const WIDEST = 54; // pixels of a cell with a name above it
const GAP = 24; // pixels between two pictures side by side
const NARROW = { large: 260, small: 140 }; // minimum width of side-by-side figures in pixels
const MOST = 4; // small ones in a row

/**
 * @typedef {{ lesson: string, width: number, training: import('./training.js').Training, small?: boolean }} About `small`: its legend
 *   stands below all of them
 */

/** The figures of a result, below each other. */
export const drawFound = (found, about) => found.figures.map((figure) => picture(figure, about));

function picture(figure, about) {
  return make('div', { class: 'lesson-found' }, ...FORMS[figure.form](figure, about).filter(Boolean));
}

const FORMS = {
  heat: drawHeat,
  beside: drawBeside,
  lines: drawLines,
  bars: drawBars,
  table: drawTable,
  texts: drawTexts,
  trains: (figure, { training }) => [training.show(figure)],
  sources: drawSources,
};

function drawHeat({ title, numbers, rows, columns, scale, most, digits, row, column, bare }, { lesson, width, small }) {
  const { shape, numbers: cells } = unpacked(numbers);
  const matrix = { rows: shape[0], columns: shape[1], numbers: cells };
  const name = labelOf(lesson, title);
  const said = (labels, count) => ({
    names: labels.map((label) => labelOf(lesson, label)),
    places: Array.from({ length: count }, (_, place) => place),
  });
  const room = columns.length && !bare ? Math.min(width, ASIDE + WIDEST * shape[1]) : width;
  const largest = most || (scale === 'share' ? 1 : reach(cells));
  const drawn = heat({
    ...{ matrix, name, scale, digits, row, column, most: largest, width: room },
    rows: said(rows, shape[0]),
    columns: columns.length ? said(columns, shape[1]) : null,
    ...{ bare, label: bare ? 0 : ASIDE },
    height: heightOf({ rows, digits, bare }, shape, room),
  });
  return [titled(name, `${shape[0]} × ${shape[1]}`), drawn, small ? null : legend(scale, largest)];
}

/** Pixels of a row. */
function heightOf({ rows, digits, bare }, [down, across], room) {
  if (bare) return down === across ? room / across : FLAT;
  if (digits) return ROW.read;
  return rows.length ? ROW.named : Math.max(2, Math.min(ROW.bare, Math.round(240 / down)));
}

function drawBeside({ parts, small }, about) {
  const fit = Math.floor((about.width + GAP) / (NARROW[small ? 'small' : 'large'] + GAP));
  const count = Math.max(1, Math.min(parts.length, fit, small ? MOST : parts.length));
  const width = Math.min(Math.floor((about.width - GAP * (count - 1)) / count), small ? 2 * NARROW.small : about.width);
  const pictures = parts.map((part) => picture(part, { ...about, width, small }));
  const [first] = parts;
  const shared = small && first.form === 'heat' ? legend(first.scale, first.scale === 'share' ? 1 : first.most) : null;
  return [make('div', { class: 'lesson-beside', style: `--part:${width}px` }, ...pictures), shared];
}

/** From zero to the right; where some are negative, zero stands in the middle. */
function drawBars({ title, names, values, says, most, lit }, { lesson }) {
  const largest = most || Math.max(...values.map(Math.abs)) || 1;
  const both = values.some((value) => value < 0);
  const lines = values.flatMap((value, place) => {
    const share = Math.min(1, Math.abs(value) / largest) * (both ? 50 : 100);
    const left = both ? (value < 0 ? 50 - share : 50) : 0;
    const name = labelOf(lesson, names[place]);
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
  return [titled(labelOf(lesson, title)), make('div', { class: `lesson-bars placed${both ? ' both' : ''}` }, ...lines)];
}

function drawTable({ title, columns, rows, lit }, { lesson }) {
  const name = labelOf(lesson, title);
  const cell = (value, place) => {
    const text = make('bdi', {}, labelOf(lesson, value));
    return place
      ? make('td', { class: 'numeric', data: { of: labelOf(lesson, columns[place]) } }, text)
      : make('th', { scope: 'row' }, text);
  };
  const head = make('tr', {}, ...columns.map((label) => make('th', { scope: 'col' }, labelOf(lesson, label))));
  const lines = rows.map((cells, place) => make('tr', { class: place === lit ? 'best' : '' }, ...cells.map(cell)));
  const table = make('table', { class: 'lesson-table wraps', 'aria-label': name }, make('thead', {}, head), make('tbody', {}, ...lines));
  return [titled(name), table];
}

function drawSources({ sources }, { lesson }) {
  return sources.flatMap(({ title, code, says }) => {
    const below = labelOf(lesson, says);
    return [titled(labelOf(lesson, title)), sourceBox(code, []), below ? make('p', { class: 'quiet' }, below) : null];
  });
}

function drawTexts({ texts }, { lesson }) {
  const sides = texts.map(({ name, text, says, language }) => {
    const about = language ? { lang: languageTag(language) } : {};
    const below = labelOf(lesson, says);
    return make(
      'div',
      {},
      titled(labelOf(lesson, name)),
      make('p', { class: 'text', ...about }, make('bdi', {}, labelOf(lesson, text))),
      below ? make('p', { class: 'quiet numeric' }, below) : null,
    );
  });
  return [make('div', { class: 'lesson-texts' }, ...sides)];
}
