// Cells of a map: colour levels and hatching of masked cells. `viz/figures/cells.py` is the reference.

import { tables } from './tables.js';

const LOG_MIN = 1e-3; // weight at the lower end of the logarithmic scale
const STRONG_EFFECT = 0.4; // nats; the colour is full from here
const TICKS = {
  linear: { tickvals: [0, 0.25, 0.5, 0.75, 1], ticktext: ['0', '0.25', '0.5', '0.75', '1'] },
  log: { tickvals: [0, 1 / 3, 2 / 3, 1], ticktext: ['≤0.001', '0.01', '0.1', '1'] },
  row: { tickvals: [0, 0.5, 1], ticktext: ['0', '0.5', '1'] },
  effect: { tickvals: [0, 0.25, 0.5, 0.75, 1], ticktext: ['≤ −0.4', '−0.1', '0', '+0.1', '≥ +0.4'] },
};

/** Rows of numbers; null where a cell is masked. */
export function cellRows({ rows, columns, allowed }, number) {
  return rows.map((_, row) =>
    columns.map((_, column) => {
      const cell = row * columns.length + column;
      return allowed[cell] ? number(cell, row) : null;
    }),
  );
}

/** Colour values from 0 to 1 by row. On the linear scale they are the weights. */
export function colourLevels(map, scale) {
  const { weights, columns } = map;
  const rowMaximum = (row) =>
    weights.subarray(row * columns.length, (row + 1) * columns.length).reduce((most, weight) => Math.max(most, weight), 0);
  const maxima = map.rows.map((_, row) => rowMaximum(row));
  const levels = {
    linear: (weight) => weight,
    log: (weight) => Math.max(0, 1 - Math.log10(Math.max(weight, LOG_MIN)) / Math.log10(LOG_MIN)),
    row: (weight, row) => (maxima[row] > 0 ? weight / maxima[row] : 0),
    effect: (effect) => (1 + Math.sign(effect) * Math.sqrt(Math.min(1, Math.abs(effect) / STRONG_EFFECT))) / 2,
  };
  return cellRows(map, (cell, row) => levels[scale](weights[cell], row));
}

/** A trace of a map. */
export const heatTrace = (values) => ({ type: 'heatmap', zmax: 1, hoverinfo: 'skip', hoverongaps: false, ...values });

/** The colour bar of a map. */
export const colourBar = (scale, title, position) => ({
  ...{ orientation: 'h', lenmode: 'pixels', thickness: 8, xpad: 0, title: { text: title, side: 'top' } },
  ...TICKS[scale],
  ...position,
});

export const colourScale = (name, { name: theme }) => tables.figures.scales[theme][name];

/** Runs of masked cells of a row: [first, end]. */
function maskedRuns({ allowed, columns }, row) {
  /** @type {[number, number][]} */
  const runs = [];
  for (let column = 0; column < columns.length; column++) {
    if (allowed[row * columns.length + column]) continue;
    const last = runs.at(-1);
    if (last && last[1] === column) last[1]++;
    else runs.push([column, column + 1]);
  }
  return runs;
}

/** The hatching of masked cells, one shape per block of equal runs; none if no cell is masked. */
export function hatching(map, theme, axes = {}) {
  const [x, y] = [[], []];
  /** @type {Map<string, { run: [number, number], top: number }>} */
  const open = new Map();
  for (let row = 0; row <= map.rows.length; row++) {
    const runs = row < map.rows.length ? maskedRuns(map, row) : [];
    const names = runs.map(String);
    for (const [name, { run, top }] of [...open]) {
      if (names.includes(name)) continue;
      open.delete(name);
      const [left, right] = run.map((column) => column - 0.5);
      x.push(left, right, right, left, left, null);
      y.push(top - 0.5, top - 0.5, row - 0.5, row - 0.5, top - 0.5, null);
    }
    runs.forEach((run, index) => open.has(names[index]) || open.set(names[index], { run, top: row }));
  }
  if (!x.length) return [];
  const fillpattern = { shape: '/', fgcolor: theme.hatch, bgcolor: theme.masked, size: 5, solidity: 0.25 };
  const filled = { fill: 'toself', fillpattern, fillcolor: theme.masked, hoverinfo: 'skip', showlegend: false };
  return [{ type: 'scatter', x, y, mode: 'lines', line: { width: 0 }, ...filled, ...axes }];
}
