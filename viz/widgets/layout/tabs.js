// The tab bar. All panels stay in the document; the bar sets which of them is visible.

import { fadeScrollEdges, make, replace } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { t } from '../core/i18n.js';

export async function mount({ element, props }) {
  await ready;
  const names = JSON.parse(props.value);
  element.classList.add('tabs');
  element.setAttribute('role', 'tablist');
  if (!names.includes(state.tab)) set({ tab: names[0] });
  element.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    set({ tab: names[(names.indexOf(state.tab) + step + names.length) % names.length] });
    element.querySelector('[aria-selected=true]').focus();
  });
  const draw = () => {
    const focused = element.contains(document.activeElement);
    element.setAttribute('aria-label', t('tabs'));
    replace(
      element,
      ...names.map((name) => {
        const chosen = state.tab === name;
        const about = {
          type: 'button',
          role: 'tab',
          'aria-selected': String(chosen),
          'aria-controls': `panel-${name}`,
          tabindex: chosen ? 0 : -1,
        };
        return make('button', { ...about, data: { text: t(`tab_${name}`) }, onclick: () => set({ tab: name }) }, t(`tab_${name}`));
      }),
    );
    for (const name of names) {
      const panel = document.getElementById(`panel-${name}`);
      if (panel) Object.assign(panel, { hidden: state.tab !== name, ariaLabel: t(`tab_${name}`) }).setAttribute('role', 'tabpanel');
    }
    if (focused) element.querySelector('[aria-selected=true]').focus();
    intoSight(element, element.querySelector('[aria-selected=true]'));
  };
  on(['language', 'tab'], draw);
  draw();
  fadeScrollEdges(element);
}

/** Scrolls the selected tab into view. `scrollIntoView` would also scroll the page if the window is low. */
function intoSight(row, tab) {
  if (!tab) return;
  const [{ left, right }, seen] = [tab.getBoundingClientRect(), row.getBoundingClientRect()];
  row.scrollLeft += Math.max(0, right - seen.right) - Math.max(0, seen.left - left);
}
