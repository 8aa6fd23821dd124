// The server cannot reach the Hub: why no further model is offered, and a button to look again.

import { make } from '../core/dom.js';
import { state } from '../core/state.js';
import { t } from '../core/i18n.js';

export class HubAway {
  constructor() {
    this.says = make('p', { role: 'status' });
    this.again = make('button', { type: 'button', class: 'link', onclick: () => look(true) });
    this.element = make('div', { class: 'hub-away', hidden: true }, this.says, this.again);
  }

  draw() {
    this.element.hidden = !state.hubAway;
    this.says.textContent = state.hubAway ? t('hub_away', { host: state.hubAway }) : '';
    this.again.textContent = t('offer_again');
  }
}

/** Look whether the Hub can be reached; `again`: the visitor asks. */
export const look = (again = false) => dispatchEvent(new CustomEvent('headlight-hub', { detail: { again } }));
