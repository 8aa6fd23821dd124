// Shows the selected panel, and the row with the panels of its view if there are several.

import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { mountTabs, findView } from './views.js';

const OPENED_ELSEWHERE = 'heads'; // the model menu opens the other panel of this view

export async function mount({ element, props }) {
  await ready;
  const views = JSON.parse(props.value);
  const panels = Object.values(views).flat();
  if (!panels.includes(state.tab)) set({ tab: panels[0] });
  const siblings = () => views[findView(views, state.tab)];
  element.classList.add('subtabs');
  const draw = () => {
    element.hidden = siblings().length < 2 || state.tab === OPENED_ELSEWHERE;
    for (const name of panels) {
      const panel = document.getElementById(`panel-${name}`);
      if (panel) Object.assign(panel, { hidden: state.tab !== name, ariaLabel: t(`tab_${name}`) }).setAttribute('role', 'tabpanel');
    }
  };
  on(['language', 'tab'], draw);
  draw();
  mountTabs(
    element,
    () => siblings().map((name) => [name, t(`tab_${name}`), name === state.tab]),
    () => t(`view_${findView(views, state.tab)}`),
  );
}
