// Note that the server cannot reach the Hub, with a button to retry.

import { make } from '../core/dom.js';
import { state } from '../core/state.js';
import { t } from '../core/i18n.js';

export class HubAway {
  constructor() {
    this.description = make('p', { role: 'status' });
    this.retry = make('button', { type: 'button', class: 'link', onclick: () => checkHub(true) });
    this.element = make('div', { class: 'hub-away', hidden: true }, this.description, this.retry);
  }

  draw() {
    this.element.hidden = !state.hubAway;
    this.description.textContent = state.hubAway ? t('hub_away', { host: state.hubAway }) : '';
    this.retry.textContent = t('offer_again');
  }
}

/** Requests a check whether the Hub can be reached; `again`: whether the visitor pressed the button. */
export const checkHub = (again = false) => dispatchEvent(new CustomEvent('headlight-hub', { detail: { again } }));
