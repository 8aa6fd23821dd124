// Shows the selected panel. Above it is a row with the panels of its view, or a link back from a panel that another one
// opens.

import { make, replace } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { mountTabs, findView } from './views.js';

const LINKED = new Set(['beside', 'own', 'positions', 'sentiment']); // opened by a menu or a lesson, not from the row

export async function mount({ element, props }) {
  await ready;
  const views = JSON.parse(props.value);
  const panels = Object.values(views).flat();
  if (!panels.includes(state.tab)) set({ tab: panels[0] });
  const siblings = () => views[findView(views, state.tab)];
  const listed = () => siblings().filter((name) => !LINKED.has(name));
  const row = make('div', { class: 'subtabs' });
  const back = make('button', { type: 'button', class: 'link', onclick: () => set({ tab: listed()[0] }) });
  element.classList.add('panel-row');
  replace(element, row, back);
  const draw = () => {
    const linked = LINKED.has(state.tab);
    row.hidden = linked || listed().length < 2;
    back.hidden = !linked || !listed().length;
    element.hidden = row.hidden && back.hidden;
    if (!back.hidden) back.textContent = `‹ ${t(`tab_${listed()[0]}`)}`;
    for (const name of panels) {
      const panel = document.getElementById(`panel-${name}`);
      if (panel) Object.assign(panel, { hidden: state.tab !== name, ariaLabel: t(`tab_${name}`) }).setAttribute('role', 'tabpanel');
    }
  };
  on(['language', 'tab'], draw);
  draw();
  mountTabs(
    row,
    () => listed().map((name) => [name, t(`tab_${name}`), name === state.tab]),
    () => t(`view_${findView(views, state.tab)}`),
  );
}
