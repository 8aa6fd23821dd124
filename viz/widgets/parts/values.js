// Colours of numbers, and the tooltip with a value.

import { make } from '../core/dom.js';
import { magnified } from '../core/magnified.js';
import { shade } from '../core/theme.js';

const TIP = 14; // pixels between the pointer and the tooltip

const tip = make('div', { class: 'headlight value-tip', role: 'presentation', hidden: true });

/** Show a value in the tooltip. */
export function tell(event, text) {
  if (!tip.isConnected) document.querySelector('.gradio-container').append(tip);
  tip.textContent = text;
  tip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tip;
  const [x, y, room] = [event.clientX, event.clientY, innerWidth].map((each) => each / magnified());
  tip.style.left = `${Math.max(4, Math.min(room - width - 8, x + TIP))}px`;
  tip.style.top = `${y - height - TIP < 4 ? y + TIP : y - height - TIP / 2}px`;
}

/** Nothing is pointed at any more. */
export const untell = () => {
  tip.hidden = true;
};

/** The colour of a value: orange to blue around zero, or pale to dark from zero on. */
export const toned = (value, scale, most) =>
  scale === 'signed' ? shade('difference', 0.5 + value / most / 2) : shade('headlight', value / most);
