// Draws heatmaps on a canvas with Plotly's API, until Plotly renders the same pixels.
//
// Plotly is four fifths of the download of a first visit, and takes 10 to 15 ms per map. Waiting for it would delay a
// map by seconds on the first visit, and by a frame after each change. Plotly renders as soon as a map is idle.

import { loadPlotly, tables } from '../core/boot.js';

const IDLE_MS = 150; // milliseconds without a change until Plotly draws, so that stepping through heads stays fast

const overlays = new Map(); // element → canvas, with the figure that Plotly has not drawn yet
const lastFigures = new WeakMap(); // element → its last requested figure
const renderPromises = new WeakMap(); // element → promise of Plotly's render

/** The subset of Plotly's API that draws on a canvas first. All traces must be heatmaps. */
export const canvasPlotly = () => ({ react, restyle, purge });

function react(element, traces, layout, options) {
  show(element, { traces, layout, options });
}

function restyle(element, { z }, [traceIndex]) {
  const { traces, ...figure } = lastFigures.get(element);
  show(element, { ...figure, traces: traces.map((trace, index) => (index === traceIndex ? { ...trace, z: z[0] } : trace)) });
}

function purge(element) {
  const figure = overlays.get(element);
  clearTimeout(figure?.timer);
  figure?.canvas.remove();
  overlays.delete(element);
  // Plotly throws if its element is removed while it draws.
  if (renderPromises.has(element)) renderPromises.get(element).then(() => globalThis.Plotly.purge(element));
}

/** Draws on the canvas over the last Plotly figure. Sets `element.data`, as Plotly does. */
function show(element, figure) {
  lastFigures.set(element, figure);
  element.data = figure.traces;
  const overlay = overlays.get(element) ?? addOverlay(element);
  Object.assign(overlay, figure);
  draw(overlay);
  clearTimeout(overlay.timer);
  if (globalThis.Plotly && !overlay.loading) overlay.timer = setTimeout(() => renderWithPlotly(element), IDLE_MS);
}

/** Covers an element with a canvas and hides its children. */
function addOverlay(element) {
  const overlay = { canvas: document.createElement('canvas'), loading: false, timer: 0 };
  overlay.canvas.style.cssText = 'position:absolute;inset:0';
  for (const child of element.children) child.style.display = 'none';
  element.append(overlay.canvas);
  overlays.set(element, overlay);
  // Without Plotly, as in a notebook, the canvas stays.
  if (!globalThis.Plotly && tables.versions['plotly.js']) {
    overlay.loading = true;
    waitForNextFrame()
      .then(loadPlotly)
      .then(() => renderWithPlotly(element), console.warn);
  }
  return overlay;
}

/** Resolves after the next frame, so that the page is painted before the browser parses Plotly. */
const waitForNextFrame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

/** Renders the hidden Plotly figure, then removes the canvas. */
async function renderWithPlotly(element) {
  const figure = overlays.get(element);
  if (!figure) return; // the map was removed
  overlays.delete(element);
  for (const child of element.children) if (child !== figure.canvas) child.style.cssText = 'visibility:hidden';
  const done = globalThis.Plotly.react(element, figure.traces, figure.layout, figure.options).catch(console.warn);
  renderPromises.set(element, done);
  await done;
  for (const child of element.children) child.style.visibility = '';
  figure.canvas.remove();
}

/** Draws all traces. Maps without gaps get one pixel per cell and are scaled up by the browser, as Plotly does. */
export function draw({ canvas, traces, layout }) {
  const [width, height] = [Math.round(layout.width), Math.round(layout.height)];
  const hasNoGaps = traces.every(({ xgap, ygap }) => !xgap && !ygap);
  [canvas.width, canvas.height] = hasNoGaps ? [traces[0].z[0].length, traces[0].z.length] : [width, height];
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px`, imageRendering: hasNoGaps ? 'pixelated' : 'auto' });
  if (!canvas.width || !canvas.height) return;
  const context = canvas.getContext('2d');
  const picture = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(picture.data.buffer); // one write per pixel
  for (const trace of traces) paint(pixels, trace, canvas);
  context.putImageData(picture, 0, 0);
}

/** Paints the cells of a heatmap. Null cells are skipped. */
export function paint(pixels, { z, zmin, zmax, colorscale, xgap, ygap }, { width, height }) {
  const edges = (count, size) => Int32Array.from({ length: count + 1 }, (_, edge) => Math.round((edge * size) / count));
  const [columnEdges, rowEdges] = [edges(z[0].length, width), edges(z.length, height)];
  const [leftGap, topGap] = [xgap, ygap].map((gap) => Math.floor(gap / 2));
  const getColour = createColourLookup(colorscale);
  for (let row = 0; row < z.length; row++) {
    const weights = z[row];
    const top = width * (rowEdges[row] + topGap);
    const bottom = top + width * (rowEdges[row + 1] - rowEdges[row] - ygap);
    if (bottom <= top) continue;
    for (let column = 0; column < weights.length; column++) {
      if (weights[column] === null) continue;
      const start = top + columnEdges[column] + leftGap;
      const colour = getColour((weights[column] - zmin) / (zmax - zmin));
      pixels.fill(colour, start, start + columnEdges[column + 1] - columnEdges[column] - xgap);
    }
    for (let line = top + width; line < bottom; line += width) pixels.copyWithin(line, top, top + width);
  }
}

/** Returns a function from a value to an RGBA pixel, by a colour scale of stops `[position, '#rrggbb']`. Values are clamped to [0, 1]. */
export function createColourLookup(scale) {
  const stops = scale.map(([stop]) => stop);
  const channels = scale.map(([, hex]) => [1, 3, 5].map((start) => Number.parseInt(hex.slice(start, start + 2), 16)));
  const pixel = new Uint32Array(1);
  const bytes = new Uint8Array(pixel.buffer).fill(255);
  return (value) => {
    const position = Math.max(0, Math.min(1, value));
    let next = 1; // index of the stop after the position
    while (next < stops.length - 1 && stops[next] < position) next++;
    const fraction = (position - stops[next - 1]) / (stops[next] - stops[next - 1]);
    const [start, end] = [channels[next - 1], channels[next]];
    for (let channel = 0; channel < 3; channel++) bytes[channel] = Math.round(start[channel] + fraction * (end[channel] - start[channel]));
    return pixel[0];
  };
}
