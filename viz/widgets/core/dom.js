// Builds elements without templates, so that user text is always text, never markup.

/** Creates an element: `make('button', {class: 'go', onclick: f}, t('translate'), icon)`. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(...children.filter((child) => child != null));
  return element;
}

export function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (name.startsWith('on')) setListener(element, name.slice(2), value);
    else if (name === 'data') Object.assign(element.dataset, value);
    else if (name === 'style') element.style.cssText = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  return element;
}

/** @type {WeakMap<EventTarget, Map<string, (event: any) => void>>} */
const listenersByElement = new WeakMap(); // listeners by event name

function setListener(element, event, listener) {
  const listeners = listenersByElement.get(element) ?? new Map();
  listenersByElement.set(element, listeners);
  if (!listeners.has(event)) element.addEventListener(event, (domEvent) => listeners.get(event)(domEvent));
  listeners.set(event, listener);
}

/** Transfers event listeners from `source` to `element`. */
export function transferListeners(element, source) {
  for (const [event, listener] of listenersByElement.get(source) ?? []) setListener(element, event, listener);
}

export function replace(element, ...children) {
  element.replaceChildren(...children.filter((child) => child != null));
  return element;
}

export function tableHead(names) {
  return make('thead', {}, make('tr', {}, ...names.map((name) => make('th', { scope: 'col' }, name))));
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** An icon with these paths; `box` is the side of its view box. */
export function icon(box, paths, { fill = 'none', width = 1.5 } = {}) {
  const style = fill === 'none' ? { fill, stroke: 'currentColor', 'stroke-width': width } : { fill };
  const picture = svg('svg', { viewBox: `0 0 ${box} ${box}`, 'aria-hidden': 'true', class: 'icon', ...style });
  for (const path of paths) picture.append(svg('path', typeof path === 'string' ? { d: path } : path));
  return picture;
}

/** A toggle with an icon. Returns the button and the element for its label. */
export function iconToggle(paths, onclick) {
  const name = make('span', {});
  return [make('button', { type: 'button', class: 'pin', onclick }, icon(15, paths, { width: 1.4 }), name), name];
}

/** Splits a phrase into text and elements: `{name}` becomes the element `parts[name]`. */
export function fillElements(template, parts) {
  const pieces = template.split(/(\{\w+\})/).filter(Boolean);
  return pieces.map((piece) => {
    const part = parts[piece.slice(1, -1)];
    return piece.startsWith('{') && part !== undefined ? part : piece;
  });
}

/** Fades the edges of a horizontally scrollable element. Returns a function that updates them. */
export function fadeScrollEdges(element) {
  const update = () => {
    const { scrollLeft, clientWidth, scrollWidth } = element;
    element.classList.toggle('more-before', scrollLeft > 1);
    element.classList.toggle('more-after', scrollLeft + clientWidth < scrollWidth - 1);
  };
  element.classList.add('fades');
  element.addEventListener('scroll', update, { passive: true });
  new ResizeObserver(update).observe(element);
  update();
  return update;
}

/** Makes a scrollable element focusable, so that arrow keys scroll it. */
export function setScrollable(element, isScrollable) {
  element.classList.toggle('scrolls', isScrollable);
  if (isScrollable) element.tabIndex = 0;
  else element.removeAttribute('tabindex');
}

/** Makes the element focusable while its content overflows `side`, 'Width' or 'Height'. Returns a function that checks this again. */
export function updateScrollable(element, side) {
  const update = () => setScrollable(element, element[`scroll${side}`] > element[`client${side}`]);
  new ResizeObserver(update).observe(element);
  return update;
}

export const isTextField = (element) => /^(INPUT|TEXTAREA|SELECT)$/.test(element?.tagName ?? '');
export const prefersReducedMotion = () => matchMedia('(prefers-reduced-motion: reduce)').matches;
export const isNarrow = () => innerWidth <= 700;
export const isTouch = () => matchMedia('(hover: none)').matches || isNarrow();

/** Calls `listener` when the window's width changes; on phones the browser's bars change the height while scrolling. */
export function onWidthChange(listener) {
  let width = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth !== width) listener();
    width = innerWidth;
  });
}
