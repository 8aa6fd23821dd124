// Shows the selected panel. Above it are the tabs of its view; a panel without a tab has a back link instead.

import { make, replace } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { mountTabs, findView } from './views.js';

const PANELS_WITHOUT_TAB = new Set(['beside', 'own', 'positions', 'sentiment']); // opened by a menu or a lesson

export async function mount({ element, props }) {
  await ready;
  const views = JSON.parse(props.value);
  const panels = Object.values(views).flat();
  if (!panels.includes(state.tab)) set({ tab: panels[0] });
  const siblings = () => views[findView(views, state.tab)];
  const tabNames = () => siblings().filter((name) => !PANELS_WITHOUT_TAB.has(name));
  const row = make('div', { class: 'subtabs' });
  const back = make('button', { type: 'button', class: 'link', onclick: () => set({ tab: tabNames()[0] }) });
  element.classList.add('panel-row');
  replace(element, row, back);
  const draw = () => {
    const isWithoutTab = PANELS_WITHOUT_TAB.has(state.tab);
    row.hidden = isWithoutTab || tabNames().length < 2;
    back.hidden = !isWithoutTab || !tabNames().length;
    element.hidden = row.hidden && back.hidden;
    if (!back.hidden) back.textContent = `‹ ${t(`tab_${tabNames()[0]}`)}`;
    for (const name of panels) {
      const panel = document.getElementById(`panel-${name}`);
      if (panel) Object.assign(panel, { hidden: state.tab !== name, ariaLabel: t(`tab_${name}`) }).setAttribute('role', 'tabpanel');
    }
  };
  on(['language', 'tab'], draw);
  draw();
  mountTabs(
    row,
    () => tabNames().map((name) => [name, t(`tab_${name}`), name === state.tab]),
    () => t(`view_${findView(views, state.tab)}`),
  );
}
