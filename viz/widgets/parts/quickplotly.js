// Maps before Plotly is there: its calls, drawn on a canvas in the same pixels, until it takes over.
//
// Plotly is four fifths of what a first visit fetches. A map that waited for it would come seconds after everything else.

import { loadPlotly, tables } from '../core/boot.js';

const waiting = new Map(); // element → what Plotly is to draw there, and the canvas that shows it meanwhile

/** Plotly where it is there; otherwise what draws maps as it would. It must be given maps alone. */
export const quickPlotly = () => globalThis.Plotly ?? { react, restyle, purge };

function react(element, traces, layout, options) {
  if (globalThis.Plotly && !waiting.has(element)) return globalThis.Plotly.react(element, traces, layout, options);
  const drawn = waiting.get(element) ?? { canvas: document.createElement('canvas') };
  Object.assign(drawn, { traces, layout, options });
  if (!waiting.has(element)) {
    waiting.set(element, drawn);
    drawn.canvas.style.cssText = 'position:absolute;inset:0';
    element.append(drawn.canvas);
    // Where no Plotly is served, as in a notebook, the canvas stays.
    const taken = tables.versions['plotly.js'] ? painted().then(loadPlotly) : null;
    drawn.taken = taken ? taken.then((plotly) => takeOver(plotly, element)).catch(console.warn) : Promise.resolve();
  }
  draw(drawn);
  return drawn.taken;
}

function restyle(element, { z }, [place]) {
  if (!waiting.has(element)) return globalThis.Plotly?.restyle(element, { z }, [place]);
  const drawn = waiting.get(element);
  drawn.traces = drawn.traces.map((trace, each) => (each === place ? { ...trace, z: z[0] } : trace));
  draw(drawn);
}

function purge(element) {
  waiting.get(element)?.canvas.remove();
  waiting.delete(element);
  globalThis.Plotly?.purge(element);
}

/** After the next frame: what is on the page already is seen before the browser works on what Plotly is. */
const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

async function takeOver(plotly, element) {
  const drawn = waiting.get(element);
  if (!drawn) return; // the map has left
  waiting.delete(element);
  await plotly.react(element, drawn.traces, drawn.layout, drawn.options);
  drawn.canvas.remove();
}

/** All traces, one over the other. Maps without gaps get a pixel a cell, which the browser makes larger, as Plotly does. */
export function draw({ canvas, traces, layout }) {
  const [width, height] = [Math.round(layout.width), Math.round(layout.height)];
  const plain = traces.every(({ xgap, ygap }) => !xgap && !ygap);
  [canvas.width, canvas.height] = plain ? [traces[0].z[0].length, traces[0].z.length] : [width, height];
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px`, imageRendering: plain ? 'pixelated' : 'auto' });
  const context = canvas.getContext('2d');
  for (const trace of traces) {
    for (const [x, y, wide, tall, colour] of cells(trace, canvas)) {
      context.fillStyle = colour;
      context.fillRect(x, y, wide, tall);
    }
  }
}

/** Every cell of a heatmap: its place and size in whole pixels, and its colour. What is null, is left out. */
export function cells({ z, zmin, zmax, colorscale, xgap, ygap }, { width, height }) {
  const found = [];
  for (const [row, weights] of z.entries()) {
    const [top, bottom] = [row, row + 1].map((edge) => Math.round((edge * height) / z.length));
    for (const [column, weight] of weights.entries()) {
      const [left, right] = [column, column + 1].map((edge) => Math.round((edge * width) / weights.length));
      if (weight === null) continue;
      const place = Math.max(0, Math.min(1, (weight - zmin) / (zmax - zmin)));
      const [x, y] = [left + Math.floor(xgap / 2), top + Math.floor(ygap / 2)];
      found.push([x, y, right - left - xgap, bottom - top - ygap, colourAt(colorscale, place)]);
    }
  }
  return found;
}

/** A colour scale of `[place, '#rrggbb']` at a place between 0 and 1. */
export function colourAt(scale, place) {
  const above = Math.max(
    1,
    scale.findIndex(([at]) => at >= place),
  );
  const [[from, dark], [to, light]] = [scale[above - 1], scale[above]];
  const part = (place - from) / (to - from);
  const channel = (hex, start) => Number.parseInt(hex.slice(start, start + 2), 16);
  const mixed = [1, 3, 5].map((start) => Math.round(channel(dark, start) + part * (channel(light, start) - channel(dark, start))));
  return `rgb(${mixed.join()})`;
}
