// Connects the page to the notebook around its iframe: the page follows the notebook's theme, and the iframe the page's height.

import { make } from '../core/dom.js';

/** The iframe element in the notebook's page, or null if the page has another origin. */
export function findFrame() {
  try {
    return window.frameElement;
  } catch {
    return null; // cross-origin
  }
}

/**
 * Whether the notebook is dark: by the first opaque background behind the iframe, else by the theme that the notebook
 * declares, else `prefersDark`.
 */
export function isDark(frame, prefersDark) {
  for (let element = frame; element; element = element.parentElement ?? element.getRootNode?.().host) {
    const [red, green, blue, opacity] = parseColour(getComputedStyle(element).backgroundColor);
    if (opacity > 127) return 0.299 * red + 0.587 * green + 0.114 * blue < 128; // luma, ITU-R BT.601
  }
  return declaresDark(frame?.ownerDocument) ?? prefersDark;
}

/** Parses a CSS colour to [red, green, blue, opacity], each from 0 to 255. */
function parseColour(colour) {
  const [, channels] = /^rgba?\((.*)\)$/.exec(colour) ?? [];
  if (channels) {
    const [red, green, blue, opacity = 1] = (channels.match(/[\d.]+/g) ?? []).map(Number);
    return [red, green, blue, 255 * opacity];
  }
  // A canvas converts other notations, such as `color(srgb 1 1 1)` and `oklch(…)`.
  const context = /** @type {CanvasRenderingContext2D} */ (make('canvas', { width: 1, height: 1 }).getContext('2d'));
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data;
}

/** Whether VS Code, JupyterLab or Colab declares a dark theme; undefined: no declaration. */
function declaresDark(page) {
  if (!page) return undefined;
  const { vscodeThemeKind, jpThemeLight } = page.body.dataset;
  if (vscodeThemeKind) return ['vscode-dark', 'vscode-high-contrast'].includes(vscodeThemeKind);
  if (jpThemeLight) return jpThemeLight === 'false';
  const theme = page.documentElement.getAttribute('theme');
  return theme ? theme === 'dark' : undefined;
}

/** Follows the notebook's theme and resizes the iframe with the view. */
export function followNotebook(frame, root) {
  const preference = matchMedia('(prefers-color-scheme: dark)');
  const applyTheme = () => document.body.classList.toggle('dark', isDark(frame, preference.matches));
  preference.addEventListener('change', applyTheme);
  applyTheme();
  if (!frame) return;
  const observer = new MutationObserver(applyTheme);
  for (const element of [frame.ownerDocument.documentElement, frame.ownerDocument.body]) {
    observer.observe(element, { attributes: true });
    element.addEventListener('transitionend', applyTheme);
  }
  addEventListener('pagehide', () => observer.disconnect());
  const fit = () => (frame.style.height = `${Math.ceil(root.getBoundingClientRect().height)}px`);
  new ResizeObserver(fit).observe(root);
}
