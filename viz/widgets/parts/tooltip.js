// Tooltip with a value, and colours of values.

import { make } from '../core/dom.js';
import { pageZoom } from '../core/page-zoom.js';
import { scaleColour } from '../core/theme.js';

const TOOLTIP_OFFSET = 14; // pixels between the pointer and the tooltip

const tooltip = make('div', { class: 'headlight value-tip', role: 'presentation', hidden: true });

/** Shows a value in the tooltip next to the pointer. */
export function showTooltip(event, text) {
  if (!tooltip.isConnected) document.querySelector('.gradio-container').append(tooltip);
  tooltip.textContent = text;
  tooltip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tooltip;
  const [x, y, windowWidth] = [event.clientX, event.clientY, innerWidth].map((item) => item / pageZoom());
  tooltip.style.left = `${Math.max(4, Math.min(windowWidth - width - 8, x + TOOLTIP_OFFSET))}px`;
  tooltip.style.top = `${y - height - TOOLTIP_OFFSET < 4 ? y + TOOLTIP_OFFSET : y - height - TOOLTIP_OFFSET / 2}px`;
}

export const hideTooltip = () => {
  tooltip.hidden = true;
};

/** Colour of a value: diverging around zero if `scale` is 'signed', else sequential. */
export const valueColour = (value, scale, maximum) =>
  scale === 'signed' ? scaleColour('difference', 0.5 + value / maximum / 2) : scaleColour('headlight', value / maximum);
