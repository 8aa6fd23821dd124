// The views in the header. A view has one or more panels; `state.tab` names the visible one.

import { fadeScrollEdges, make, replace } from '../core/dom.js';
import { on, set, state } from '../core/state.js';
import { t } from '../core/i18n.js';

/** Name of the view that contains a panel. */
export const findView = (views, panel) => Object.keys(views).find((name) => views[name].includes(panel));

/**
 * A row of tabs: `entries()` returns [panel to open, name, whether it is selected] for each; `label()` names the row.
 * Arrow keys open the next one.
 */
export function mountTabs(element, entries, label) {
  element.setAttribute('role', 'tablist');
  element.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const tabs = entries();
    const selectedIndex = tabs.findIndex(([, , selected]) => selected);
    set({ tab: tabs[(selectedIndex + step + tabs.length) % tabs.length][0] });
    element.querySelector('[aria-selected=true]').focus();
  });
  const tab = ([panel, name, selected]) => {
    const attributes = { type: 'button', role: 'tab', 'aria-selected': String(selected), 'aria-controls': `panel-${panel}` };
    const button = make('button', { ...attributes, tabindex: selected ? 0 : -1, data: { text: name } }, name);
    button.addEventListener('click', () => set({ tab: panel }));
    return button;
  };
  const draw = () => {
    const focused = element.contains(document.activeElement);
    element.setAttribute('aria-label', label());
    replace(element, ...entries().map(tab));
    const selected = element.querySelector('[aria-selected=true]');
    if (focused) selected?.focus();
    scrollIntoRow(element, selected);
  };
  on(['language', 'tab'], draw);
  draw();
  fadeScrollEdges(element);
}

/** The row of views. A view opens on its first panel. */
export function mountViews(element, views) {
  const entries = () =>
    Object.entries(views).map(([view, panels]) => {
      const selected = panels.includes(state.tab);
      return [selected ? state.tab : panels[0], t(`view_${view}`), selected];
    });
  element.classList.add('tabs');
  element.addEventListener('click', (event) => {
    const selected = event.target.closest('[aria-selected=true]');
    if (selected) set({ tab: views[findView(views, state.tab)][0] }); // back to the first panel of the view
  });
  mountTabs(element, entries, () => t('tabs'));
}

/** Scrolls the selected tab into view. `scrollIntoView` would also scroll the page if the window is low. */
function scrollIntoRow(row, tab) {
  if (!tab) return;
  const [{ left, right }, rowBox] = [tab.getBoundingClientRect(), row.getBoundingClientRect()];
  row.scrollLeft += Math.max(0, right - rowBox.right) - Math.max(0, rowBox.left - left);
}
