// The notebook around the frame: its dark or light appearance, and the height that the view takes there.

/** The element of the notebook's page that holds us, where we may see it. */
export function frameOf() {
  try {
    return window.frameElement;
  } catch {
    return null; // another site's page holds us
  }
}

/** Whether the surface under the frame is dark: the first opaque colour behind it says. */
export function isDark(frame, preferred) {
  for (let element = frame; element; element = element.parentElement) {
    const colour = getComputedStyle(element).backgroundColor;
    const [red, green, blue, opacity = 1] = (colour.match(/[\d.]+/g) ?? []).map(Number);
    if (blue !== undefined && opacity > 0.5) return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  }
  return preferred;
}

/** Follow the notebook: dark or light, and as tall as the view is. */
export function follow(frame, root) {
  const preference = matchMedia('(prefers-color-scheme: dark)');
  const show = () =>
    document.body.classList.toggle('dark', isDark(frame, !frame?.ownerDocument.body.dataset.jpThemeLight && preference.matches));
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
