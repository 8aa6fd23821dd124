// All heads of all layers in one figure, with averages last. `viz/figures/overview.py` is the reference.

import { colourBar, colourScale, heatTrace } from './figure-cells.js';
import { caption, fill, headerHeight, title } from './figure-text.js';
import { tables } from './tables.js';

const MAX_CELLS = 48; // of a tile, per side
const GAP = 0.12; // between tiles, as a fraction of a tile
const AVERAGES_GAP = 0.2; // extra gap before the averages
const TILE = 76; // pixels
const MIN_WIDTH = 440;
const CAPTION = 12;
const TICKS = [0, 0.01, 0.1, 0.25, 0.5, 1];
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 16, 24, 84]; // pixels

/** Maps of a kind by layer and head, with the means of each row and of each column. @returns {Float32Array[][]} */
function mapsWithMeans(translation, kind, size) {
  const mean = (maps) => Float32Array.from({ length: size }, (_, cell) => maps.reduce((sum, map) => sum + map[cell], 0) / maps.length);
  const heads = Array.from({ length: translation.heads }, (_, head) => head);
  const layers = translation.maps[kind].map((layer) => heads.map((head) => layer.subarray(head * size, (head + 1) * size)));
  const rows = layers.map((maps) => [...maps, mean(maps)]);
  return [...rows, rows[0].map((_, head) => mean(rows.map((maps) => maps[head])))];
}

/** The largest weight of each block of cells as rows, with null for masked blocks. Small maps have blocks of one cell. */
function tileRows({ rows, columns, allowed }, map, block) {
  const [high, wide] = block;
  return Array.from({ length: Math.ceil(rows.length / high) }, (_, row) =>
    Array.from({ length: Math.ceil(columns.length / wide) }, (_, column) => {
      let largest = -1;
      for (let query = row * high; query < Math.min(rows.length, (row + 1) * high); query++) {
        for (let key = column * wide; key < Math.min(columns.length, (column + 1) * wide); key++) {
          const cell = query * columns.length + key;
          if (allowed[cell]) largest = Math.max(largest, map[cell]);
        }
      }
      return largest < 0 ? null : Math.sqrt(largest);
    }),
  );
}

const tileStarts = (count) => [...Array.from({ length: count }, (_, number) => number * (1 + GAP)), count * (1 + GAP) + AVERAGES_GAP];

/** The borders of all cells, including the gaps. */
const edges = (starts, cells) => starts.flatMap((start) => Array.from({ length: cells + 1 }, (_, cell) => start + cell / cells));

const axis = (starts, average) => ({
  tickmode: 'array',
  tickvals: starts.map((start) => start + 0.5),
  ticktext: starts.map((_, number) => (number < starts.length - 1 ? String(number + 1) : average)),
  tickfont: { size: CAPTION },
  ticklabelstandoff: 4,
});

/**
 * @param {any} translation
 * @param {import('./attention-map.js').AttentionMap} sides any map of the kind
 * @param {{ theme: Record<string, string> & { name: string }, words: Record<string, string>, palette: string }} style
 */
export function drawOverview(translation, sides, { theme, words, palette }) {
  const { kind, rows, columns, allowed } = sides;
  const block = [rows, columns].map(({ length }) => Math.ceil(length / MAX_CELLS));
  const tiles = mapsWithMeans(translation, kind, allowed.length).map((maps) => maps.map((map) => tileRows(sides, map, block)));
  const [layers, heads] = [tiles.length - 1, tiles[0].length - 1];
  const [height, width] = [tiles[0][0].length, tiles[0][0][0].length];
  const [left, top] = [tileStarts(heads), tileStarts(layers)];
  const [x, y] = [edges(left, width), edges(top, height)];
  const empty = Array(heads * (width + 1) + width).fill(null);
  const mosaic = tiles.flatMap((maps, layer) => {
    const lines = Array.from({ length: height }, (_, row) => maps.flatMap((tile, head) => (head ? [null, ...tile[row]] : tile[row])));
    return layer ? [empty, ...lines] : lines;
  });
  const [right, bottom] = [x, y].map((borders) => borders[borders.length - 1]);
  const picture = Math.max(MIN_WIDTH, Math.floor(LEFT + RIGHT + right * TILE));
  const says = fill(words.says, { kind: words[kind] });
  const coarse = Math.max(...block) > 1 ? ` ${fill(words.coarse, { rows: block[0], columns: block[1] })}` : '';
  const header = title(words.title, says + coarse, picture - 2 * RIGHT);
  const above = headerHeight(header) + TOP;
  const paper = { xref: 'paper', yref: 'paper', x: 0, y: 1 };
  const tile = (x0, y0) => ({ type: 'rect', layer: 'below', x0, x1: x0 + 1, y0, y1: y0 + 1, line: { width: 0 }, fillcolor: theme.masked });
  const ticks = { tickvals: TICKS.map(Math.sqrt), ticktext: TICKS.map(String) };
  const bar = colourBar('linear', words.weight, { x: 0, xanchor: 'left', y: 0, yanchor: 'top', len: 220, ypad: 16 });
  const layout = {
    template: tables.figures.templates[theme.name],
    meta: { figure: 'overview', kind, layers, heads, block },
    title: header,
    xaxis: { ...axis(left, words.average), side: 'top', range: [0, right] },
    yaxis: { ...axis(top, words.average), range: [bottom, 0] },
    annotations: [
      caption(words.heads, theme, { ...paper, xanchor: 'left', yshift: 34 }),
      caption(words.layers, theme, { ...paper, xanchor: 'right', xshift: -8, yshift: 12 }),
    ],
    ...(allowed.includes(0) ? { shapes: left.flatMap((x0) => top.map((y0) => tile(x0, y0))) } : {}),
    width: picture,
    height: Math.ceil(above + bottom * TILE + BOTTOM),
    margin: { l: LEFT, r: picture - LEFT - right * TILE, t: above, b: BOTTOM },
    hovermode: 'closest',
    hoverdistance: -1,
  };
  const colorscale = colourScale(palette, theme);
  return { data: [heatTrace({ z: mosaic, x, y, zmin: 0, colorscale, colorbar: { ...bar, ...ticks } })], layout };
}
