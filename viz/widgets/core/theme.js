// Light and dark theme. The figures use the same colour table.

import { tables as sharedTables } from './boot.js';
import { set, state } from './state.js';

const themes = sharedTables.theme;
const colourTables = new Map(); // by theme and name of the scale

export function followTheme() {
  new MutationObserver(onThemeChange).observe(document.body, { attributes: true, attributeFilter: ['class'] });
  onThemeChange();
}

/** Gradio sets the class `dark` on the body. */
function onThemeChange() {
  const theme = document.body.classList.contains('dark') ? 'dark' : 'light';
  document.documentElement.style.colorScheme = theme;
  set({ theme });
}

export function switchTheme() {
  document.body.classList.toggle('dark');
}

export const colour = (name) => themes[state.theme].variables[`--${name}`];

/** A colour scale in Plotly's format. */
export function getPlotlyScale(name) {
  const samples = themes[state.theme].scales[name];
  return samples.map((hex, index) => [index / (samples.length - 1), hex]);
}

/** A colour scale as 256 RGB triples. */
export function colourTable(name, theme = state.theme) {
  const key = `${theme} ${name}`;
  if (!colourTables.has(key)) colourTables.set(key, interpolate(themes[theme].scales[name].map(parseHex)));
  return colourTables.get(key);
}

/** The red, green and blue of a colour `#rrggbb`. */
const parseHex = (hex) => [1, 3, 5].map((index) => parseInt(hex.slice(index, index + 2), 16));

/** Interpolates evenly spaced samples linearly to 256 RGB triples. */
function interpolate(samples) {
  const colours = new Uint8ClampedArray(256 * 3);
  for (let level = 0; level < 256; level++) {
    const position = (level / 255) * (samples.length - 1);
    const left = Math.min(samples.length - 2, Math.floor(position));
    for (let channel = 0; channel < 3; channel++) {
      const [start, end] = [samples[left][channel], samples[left + 1][channel]];
      colours[level * 3 + channel] = start + (end - start) * (position - left);
    }
  }
  return colours;
}

/** The RGB colour of a level from 0 to 1. */
export function scaleColour(name, level, theme = state.theme) {
  const offset = Math.max(0, Math.min(255, Math.round(level * 255))) * 3;
  return colourTable(name, theme).subarray(offset, offset + 3);
}

export const cssColour = ([red, green, blue]) => `rgb(${red},${green},${blue})`;

/** Black or white, whichever has the higher contrast (WCAG). */
export function textColourOn(rgb) {
  const [red, green, blue] = [...rgb].map((value) => {
    const channel = value / 255;
    return channel <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 ? '#fff' : '#000';
}
