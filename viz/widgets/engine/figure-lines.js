// Lines from queries on the left to keys on the right, stronger for larger weights. `viz/figures/lines.py` is the reference.

import { MARGIN, columnLabels, rowLabels } from './figure-axes.js';
import { caption, fill, headerHeight, mapName, plotlyText, textWidth, title } from './figure-text.js';
import { tables } from './tables.js';

const SHADES = 20; // of a line; a weight is rounded to the nearest
const MIDDLE = 280; // pixels between the two sides
const [ROW, DENSE_ROW] = [24, 16]; // pixels per token; the latter for more than `MAX_TALL_ROWS`
const MAX_TALL_ROWS = 44;
const BOTTOM = 40;
const LABEL = 14;
const MIN_SIDE = 48;

/** Traces of a map: an empty one for the legend, and one per shade, because a trace has one opacity. */
function headTraces(map, color, threshold, words) {
  const name = mapName(map, words);
  const line = { color, width: 2 };
  const shared = { type: 'scatter', mode: 'lines', line, name, legendgroup: `${map.layer}-${map.head ?? 'None'}`, hoverinfo: 'skip' };
  /** @type {number[][]} cells by shade */
  const shades = Array.from({ length: SHADES + 1 }, () => []);
  map.weights.forEach((weight, cell) => {
    if (weight > 0 && weight >= Math.fround(threshold)) shades[Math.max(1, Math.min(SHADES, Math.round(weight * SHADES)))].push(cell);
  });
  const traces = shades.flatMap((cells, shade) => {
    if (!cells.length) return [];
    const x = cells.flatMap(() => [0, 1, null]);
    const y = cells.flatMap((cell) => [Math.floor(cell / map.columns.length), cell % map.columns.length, null]);
    return [{ ...shared, x, y, opacity: shade / SHADES, showlegend: false }];
  });
  return [{ ...shared, x: [null], y: [null] }, ...traces];
}

const sideWidth = (labels, size) => Math.max(MIN_SIDE, ...labels.map(({ read, text }) => textWidth(read + text, size))) + MARGIN + 12;

/** The token labels of one side, from top to bottom. */
function drawSide(labels, x, size, theme) {
  const position = { xref: 'paper', x, xanchor: x ? 'left' : 'right', xshift: x ? 10 : -10 };
  return labels.map(({ read, text, special }, y) => ({
    ...caption(plotlyText(read) + plotlyText(text), theme, { ...position, y }),
    font: { size, color: special ? theme.ink_3 : theme.ink },
  }));
}

/**
 * @param {[import('./attention-map.js').AttentionMap, string][]} maps with the colour of each
 * @param {{ theme: Record<string, string>, words: Record<string, string>, threshold: number }} style
 */
export function drawLines(maps, { theme, words, threshold }) {
  const [[first]] = maps;
  const sides = [rowLabels(first), columnLabels(first)];
  const rows = Math.max(1, ...sides.map(({ length }) => length));
  const [height, size] = rows > MAX_TALL_ROWS ? [DENSE_ROW, LABEL - 2] : [ROW, LABEL];
  const [left, right] = sides.map((labels) => sideWidth(labels, size));
  const width = Math.floor(left + MIDDLE + right);
  const subtitle = fill(words.says, { row: words[first.kind], threshold: Number(threshold.toPrecision(6)) });
  const header = title(maps.length === 1 ? mapName(first, words) : words.title, subtitle, width - 2 * MARGIN);
  const top = headerHeight(header) + 24;
  const position = { xref: 'paper', yref: 'paper', y: 1, yshift: 18 };
  const layout = {
    template: tables.figures.templates[theme.name],
    meta: { figure: 'lines', kind: first.kind, heads: maps.map(([{ layer, head }]) => [layer, head]) },
    title: header,
    xaxis: { range: [0, 1], visible: false, fixedrange: true },
    yaxis: { range: [rows - 0.5, -0.5], visible: false },
    annotations: [
      caption(words.rows, theme, { x: 0, xanchor: 'right', xshift: -10, ...position }),
      caption(words.columns, theme, { x: 1, xanchor: 'left', xshift: 10, ...position }),
      ...sides.flatMap((labels, x) => drawSide(labels, x, size, theme)),
    ],
    legend: { orientation: 'h', x: 0, y: 0, yanchor: 'top' },
    showlegend: maps.length > 1,
    width,
    height: Math.floor(top + rows * height + BOTTOM),
    margin: { l: left, r: right, t: top, b: BOTTOM },
    hovermode: 'closest',
  };
  return { data: maps.flatMap(([map, colour]) => headTraces(map, colour, threshold, words)), layout };
}
