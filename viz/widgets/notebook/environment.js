// The notebook around the frame: its dark or light appearance, and the height that the view takes there.

import { make } from '../core/dom.js';

/** The element of the notebook's page that holds us, where we may see it. */
export function frameOf() {
  try {
    return window.frameElement;
  } catch {
    return null; // another site's page holds us
  }
}

/** Whether the surface under the frame is dark: the first opaque colour behind it says, then the notebook's own word. */
export function isDark(frame, preferred) {
  for (let element = frame; element; element = element.parentElement ?? element.getRootNode?.().host) {
    const [red, green, blue, opacity] = pixelOf(getComputedStyle(element).backgroundColor);
    if (opacity > 127) return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  }
  return themeByName(frame?.ownerDocument) ?? preferred;
}

/** A colour as red, green, blue and opacity, each from 0 to 255. */
function pixelOf(colour) {
  const [, numbers] = /^rgba?\((.*)\)$/.exec(colour) ?? [];
  if (numbers) {
    const [red, green, blue, opacity = 1] = (numbers.match(/[\d.]+/g) ?? []).map(Number);
    return [red, green, blue, 255 * opacity];
  }
  // `color(srgb 1 1 1)`, `oklch(…)`: a canvas knows every way to write one.
  const paint = /** @type {CanvasRenderingContext2D} */ (make('canvas', { width: 1, height: 1 }).getContext('2d'));
  paint.fillStyle = colour;
  paint.fillRect(0, 0, 1, 1);
  return paint.getImageData(0, 0, 1, 1).data;
}

/** Theme of the host page if its background is transparent: VS Code, Colab, JupyterLab. */
function themeByName(page) {
  if (!page) return undefined;
  const { vscodeThemeKind, jpThemeLight } = page.body.dataset;
  if (vscodeThemeKind) return ['vscode-dark', 'vscode-high-contrast'].includes(vscodeThemeKind);
  if (jpThemeLight) return jpThemeLight === 'false';
  const theme = page.documentElement.getAttribute('theme');
  return theme ? theme === 'dark' : undefined;
}

/** Follow the notebook: dark or light, and as tall as the view is. */
export function followNotebook(frame, root) {
  const preference = matchMedia('(prefers-color-scheme: dark)');
  const show = () => document.body.classList.toggle('dark', isDark(frame, preference.matches));
  preference.addEventListener('change', show);
  show();
  if (!frame) return;
  const watch = new MutationObserver(show);
  for (const element of [frame.ownerDocument.documentElement, frame.ownerDocument.body]) {
    watch.observe(element, { attributes: true });
    element.addEventListener('transitionend', show);
  }
  addEventListener('pagehide', () => watch.disconnect());
  const fit = () => (frame.style.height = `${Math.ceil(root.getBoundingClientRect().height)}px`);
  new ResizeObserver(fit).observe(root);
}
