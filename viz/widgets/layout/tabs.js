// The tab bar. All panels stay in the document; the bar shows the selected one.

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
        const isSelected = state.tab === name;
        const attributes = {
          type: 'button',
          role: 'tab',
          'aria-selected': String(isSelected),
          'aria-controls': `panel-${name}`,
          tabindex: isSelected ? 0 : -1,
        };
        return make('button', { ...attributes, data: { text: t(`tab_${name}`) }, onclick: () => set({ tab: name }) }, t(`tab_${name}`));
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

/** Scroll the selected tab into view. In a low window, `scrollIntoView` would also scroll the page. */
function intoSight(row, tab) {
  if (!tab) return;
  const [{ left, right }, visible] = [tab.getBoundingClientRect(), row.getBoundingClientRect()];
  row.scrollLeft += Math.max(0, right - visible.right) - Math.max(0, visible.left - left);
}
