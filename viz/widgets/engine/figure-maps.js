// Figures of one map and of two maps with their difference. `viz/figures/heatmap.py` and `compare.py` are the reference.

import { MARGIN, cellGap, columnsAxis, columnsHeight, leftMargin, mapAxes, rowsAxis, verticalLabels } from './figure-axes.js';
import { cellRows, colourBar, colourLevels, colourScale, hatching, heatTrace } from './figure-cells.js';
import { cornerCaption, fill, headerHeight, isMaximum, mapName, title } from './figure-text.js';
import { tables } from './tables.js';

const MIN_WIDTH = 440; // pixels that a title needs
const BOTTOM = 100; // pixels for the legends
const LEGEND = { xanchor: 'left', y: 0, yanchor: 'top', len: 220, ypad: 24 };
const [COMPARED_LENGTH, COMPARED_CELL] = [300, 32]; // pixels at most, of a side of a map and of a cell
const [COMPARED_GAP, MIN_STEP] = [40, 220]; // pixels between two maps
const LABEL = 14; // pixels

/**
 * @typedef {import('./attention-map.js').AttentionMap} AttentionMap
 * @typedef {{ theme: Record<string, string> & { name: string }, words: Record<string, string>, palette: string }} Style
 */

/**
 * The figure of a map. On the scale "effect", it has effects in nats, on what the sentence `effects` says.
 * @param {AttentionMap} map
 * @param {Style & { scale: string, effects?: string }} style
 */
export function drawHeatmap(map, { theme, words, palette, scale, effects = '' }) {
  const [rows, columns] = mapAxes(map);
  const left = leftMargin(rows);
  const width = Math.max(MIN_WIDTH, Math.floor(left + columns.length + MARGIN));
  const remark = effects || (isMaximum(map) ? words.not_one : '');
  const header = title(mapName(map, words, Boolean(effects)), [words[map.kind], remark].filter(Boolean).join(' '), width - 2 * MARGIN);
  const top = Math.ceil(headerHeight(header) + columnsHeight(columns));
  const gap = cellGap(rows, columns);
  const { kind, layer, head } = map;
  const trace = heatTrace({
    ...{ z: colourLevels(map, scale), zmin: 0, xgap: gap, ygap: gap, showscale: true },
    colorscale: colourScale(effects ? 'difference' : palette, theme),
    colorbar: colourBar(scale, words[scale === 'linear' ? 'weight' : scale], { x: 0, ...LEGEND }),
  });
  const layout = {
    template: tables.figures.templates[theme.name],
    meta: { figure: 'heatmap', kind, layer, head, scale },
    title: header,
    xaxis: columnsAxis(columns, theme),
    yaxis: rowsAxis(rows, theme),
    annotations: [...verticalLabels(columns, theme), ...cornerCaption(words, theme)],
    width,
    height: top + Math.ceil(rows.length) + BOTTOM,
    margin: { l: left, r: width - left - columns.length, t: top, b: BOTTOM },
    showlegend: false,
  };
  return { data: [trace, ...hatching(map, theme)], layout };
}

const suffix = (number) => (number ? String(number + 1) : '');
const traceAxes = (number) => ({ xaxis: `x${suffix(number)}`, yaxis: `y${suffix(number)}` });

/**
 * The figure of two maps, A and B, and of A − B.
 * @param {AttentionMap} first
 * @param {AttentionMap} second
 * @param {Style} style
 */
export function drawComparison(first, second, { theme, words, palette }) {
  const [rows, columns] = mapAxes(first, COMPARED_LENGTH, COMPARED_CELL);
  const left = leftMargin(rows);
  const step = Math.max(columns.length, MIN_STEP) + COMPARED_GAP;
  const width = Math.floor(left + 3 * step - COMPARED_GAP + MARGIN);
  const plot = width - left - MARGIN;
  const differences = first.weights.map((weight, cell) => weight - second.weights[cell]);
  const cells = [...differences].filter((_, cell) => first.allowed[cell]);
  const mean = cells.length ? cells.reduce((sum, cell) => sum + Math.abs(cell), 0) / cells.length : 0;
  const names = [first, second].map((map) => mapName(map, words));
  const subtitle = fill(words.says, { row: words[first.kind], mean: mean.toFixed(4) });
  const header = title(fill(words.title, { first: names[0], second: names[1] }), subtitle, width - 2 * MARGIN);
  const top = Math.ceil(headerHeight(header) + columnsHeight(columns) + 36);
  const gap = cellGap(rows, columns);
  const levels = [colourLevels(first, 'linear'), colourLevels(second, 'linear'), cellRows(first, (cell) => differences[cell])];
  const data = levels.flatMap((z, number) => {
    const isSigned = number === 2;
    const bar = colourBar('linear', isSigned ? words.more : words.weight, { x: (number * step) / plot, ...LEGEND });
    const signs = { tickvals: [-1, -0.5, 0, 0.5, 1], ticktext: ['−1', '−0.5', '0', '+0.5', '+1'] };
    const trace = heatTrace({
      ...{ z, zmin: isSigned ? -1 : 0, xgap: gap, ygap: gap, showscale: number !== 1 },
      colorscale: colourScale(isSigned ? 'difference' : palette, theme),
      colorbar: isSigned ? { ...bar, ...signs } : bar,
      ...traceAxes(number),
    });
    return [trace, ...hatching(first, theme, traceAxes(number))];
  });
  const titles = [
    [fill(words.first, { name: names[0] }), theme.head_a],
    [fill(words.second, { name: names[1] }), theme.head_b],
    [words.difference, theme.ink],
  ];
  const refs = (number) => ({ x: `x${suffix(number)}`, y: `y${suffix(number)} domain` });
  const panelTitle = ([text, color], number) => ({
    ...{ text, font: { size: LABEL, color }, xref: `${refs(number).x} domain`, yref: refs(number).y, x: 0, y: 1 },
    ...{ xanchor: 'left', yanchor: 'bottom', yshift: columnsHeight(columns) + 8, showarrow: false },
  });
  const axes = [0, 1, 2].flatMap((number) => {
    const domain = [(number * step) / plot, Math.min(1, (number * step + columns.length) / plot)];
    const [x, y] = number
      ? [
          { matches: 'x', anchor: `y${suffix(number)}` },
          { matches: 'y', anchor: `x${suffix(number)}` },
        ]
      : [];
    return [
      [`xaxis${suffix(number)}`, { ...columnsAxis(columns, theme), domain, ...x }],
      [`yaxis${suffix(number)}`, { ...rowsAxis(rows, theme), showticklabels: number === 0, ...y }],
    ];
  });
  const vertical = [0, 1, 2].flatMap((number) => verticalLabels(columns, theme, refs(number)));
  const headPlace = ({ layer, head }) => ({ layer, head });
  const layout = {
    template: tables.figures.templates[theme.name],
    meta: { figure: 'compare', kind: first.kind, first: headPlace(first), second: headPlace(second) },
    title: header,
    annotations: [...cornerCaption(words, theme), ...vertical, ...titles.map(panelTitle)],
    width,
    height: top + Math.ceil(rows.length) + BOTTOM,
    margin: { l: left, r: MARGIN, t: top, b: BOTTOM },
    showlegend: false,
    ...Object.fromEntries(axes),
  };
  return { data, layout };
}
