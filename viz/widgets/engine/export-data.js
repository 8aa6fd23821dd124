// Exports as data: CSV of the selected map, all maps as NPZ or JSON. `viz/export/files.py` and `model/checkpoints/formats.py`
// write the same.

import { KINDS } from './effects.js';
import { columnLabels, rowLabels } from './figure-axes.js';
import { encodeNpz } from './npz-file.js';

const BYTE_ORDER_MARK = '\ufeff'; // makes spreadsheets read a CSV as UTF-8
const FORMULA = /^[=+\-@\t\r]/;

/** Quotes a cell as needed. Text that a spreadsheet would run as a formula is escaped. */
function textCell(text) {
  const escaped = FORMULA.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(escaped) ? `"${escaped.replaceAll('"', '""')}"` : escaped;
}

/** Lines of a map: the name of each row and its numbers; masked cells are empty. */
function tableLines({ rows, columns, allowed }, names, numbers) {
  return rows.map((_, row) => {
    const cells = columns.map((_, column) => row * columns.length + column);
    return [names[row], ...cells.map((cell) => (allowed[cell] ? numbers[cell].toFixed(6) : ''))];
  });
}

const rowNames = (map) => rowLabels(map).map(({ read, full }) => textCell(read + full));
const columnNames = (map) => columnLabels(map).map(({ full }) => textCell(full));
const csv = (lines) => `${BYTE_ORDER_MARK}${lines.map((cells) => `${cells.join(',')}\n`).join('')}`;

/** A map as CSV. @param {import('./attention-map.js').AttentionMap} map */
export const mapCsv = (map) => csv([['', ...columnNames(map)], ...tableLines(map, rowNames(map), map.weights)]);

/**
 * The tables A, B and A − B as one CSV, named in the first column.
 * @param {import('./attention-map.js').AttentionMap} first
 * @param {import('./attention-map.js').AttentionMap} second
 */
export function comparisonCsv(first, second) {
  const names = rowNames(first);
  const difference = first.weights.map((weight, cell) => weight - second.weights[cell]);
  const tables = [
    ['A', first.weights],
    ['B', second.weights],
    ['A − B', difference],
  ];
  const lines = tables.flatMap(([name, numbers]) => tableLines(first, names, numbers).map((cells) => [name, ...cells]));
  return csv([['', '', ...columnNames(first)], ...lines]);
}

/** The shape of the maps of a kind, [layer, head, query, key]. */
function mapShape({ maps, heads, source, target }, kind) {
  const sides = { encoder: [source, source], decoder: [target, target], cross: [target, source] };
  return [maps[kind].length, heads, ...sides[kind].map(({ length }) => length)];
}

const texts = (tokens) => tokens.map(({ text }) => text);
const decoderTokens = ({ start, target }) => [start, ...target.slice(0, -1)];

/** All maps and tokens as an archive of NumPy. */
export function allNpz(translation) {
  const arrays = KINDS.map((kind) => {
    const shape = mapShape(translation, kind);
    const numbers = new Float32Array(shape.reduce((product, size) => product * size, 1));
    translation.maps[kind].forEach((layer, index) => numbers.set(layer, index * layer.length));
    return [kind, { shape, numbers }];
  });
  const list = (tokens) => ({ shape: [tokens.length], texts: texts(tokens) });
  return encodeNpz({
    ...Object.fromEntries(arrays),
    source: { shape: [], texts: [translation.sourceText] },
    translation: { shape: [], texts: [translation.text] },
    source_tokens: list(translation.source),
    target_tokens: list(translation.target),
    decoder_tokens: list(decoderTokens(translation)),
  });
}

/** Numbers as nested lists. @param {Float32Array} numbers @param {number[]} shape @returns {any} */
function nestArrays(numbers, shape) {
  const [size, ...rest] = shape;
  if (!rest.length) return Array.from(numbers);
  const step = numbers.length / size;
  return Array.from({ length: size }, (_, index) => nestArrays(numbers.subarray(index * step, (index + 1) * step), rest));
}

/** Text, tokens with probabilities, and all maps as nested lists. */
export function allJson(translation) {
  const { source, target, maps } = translation;
  const kinds = KINDS.map((kind) => [kind, maps[kind].map((layer) => nestArrays(layer, mapShape(translation, kind).slice(1)))]);
  const content = {
    source: translation.sourceText,
    translation: translation.text,
    source_tokens: texts(source),
    target_tokens: texts(target),
    decoder_tokens: texts(decoderTokens(translation)),
    probabilities: target.map(({ probability }) => probability ?? null),
    ...Object.fromEntries(kinds),
  };
  return `${JSON.stringify(content)}\n`;
}
