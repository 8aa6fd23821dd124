// Draws a plot in its block: a heatmap with its legend and its numbers, or lines.

import { replace } from '../core/dom.js';
import { fourDecimals, formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { makeColourRamp } from '../parts/legend.js';
import { toNumbers } from './figure-block.js';

const LAYOUT = { showlegend: false, dragmode: false, autosize: true, margin: { l: 52, r: 8, t: 8, b: 44 }, hovermode: 'closest' };

/** Draws a plot. `layout` is merged with the layout that all plots share. */
export function drawPlot(plotly, block, traces, layout) {
  const fixRange = (axis) => ({ ...axis, fixedrange: true });
  const plotLayout = { ...LAYOUT, ...layout, xaxis: fixRange(layout.xaxis), yaxis: fixRange(layout.yaxis) };
  plotly.react(block.plot, traces, plotLayout, { displayModeBar: false, responsive: true });
  block.picture.setAttribute('aria-label', `${block.title.textContent}. ${block.description.textContent}`);
}

/** Draws a heatmap. `column`: column to frame, or null; `buckets`: whether the cells are indices of buckets. */
export function drawMap(plotly, block, trace, { xaxis, yaxis, column: framedColumn, template, height, buckets }) {
  const { rows, columns, values } = toNumbers(trace.z);
  const formatValue = (number) => (buckets ? String(number) : formatSigned(number, Math.abs(number) >= 100 ? 0 : 2));
  const [low, high] = [formatValue(buckets ? 0 : trace.zmin), formatValue(trace.zmax)];
  const heatmap = { ...trace, ...(buckets ? { zmin: -trace.zmax } : {}), xaxis: 'x', yaxis: 'y' };
  const title = (axis) => ({ title: axis.title, nticks: 8 });
  const axes = { xaxis: title(xaxis), yaxis: { ...title(yaxis), autorange: 'reversed' } };
  const shapes = framedColumn === null ? [] : [makeFrame(framedColumn, rows)];
  drawPlot(plotly, block, [heatmap], { template, ...axes, height, shapes });
  replace(block.legend, buckets ? null : makeColourRamp(trace.zmin < 0 ? 'difference' : 'headlight', low, high));
  block.picture.setAttribute('aria-label', t('positions_alt_map', { name: block.title.textContent, rows, columns, low, high }));
  const head = ['', ...Array.from({ length: columns }, (_, column) => column)];
  const cells = (row) =>
    Array.from(values.subarray(row * columns, (row + 1) * columns), (value) => (buckets ? value : fourDecimals(value)));
  block.table(t('positions_numbers'), head, () => Array.from({ length: rows }, (_, row) => [row, ...cells(row)]));
}

/** A frame around one column. */
function makeFrame(column, rows) {
  const line = { color: getComputedStyle(document.body).getPropertyValue('--accent'), width: 1.5 };
  return { type: 'rect', x0: column - 0.5, x1: column + 0.5, y0: -0.5, y1: rows - 0.5, line };
}
