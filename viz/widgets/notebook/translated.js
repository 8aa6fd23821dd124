// A translation in a notebook: the Heads tab as a saved page has it.

import { Translation } from '../core/translation.js';
import { make } from '../core/dom.js';
import { DEFAULTS, page, set, state } from '../core/state.js';
import { mount as mountExplorer } from '../heads/explorer.js';
import { join, wanted } from './shared.js';

export function openTranslation(root, values, host) {
  const translation = new Translation(values);
  set({ translation, tab: DEFAULTS.tab, ...wanted(translation, { ...state, translation }, host.look()) });
  mountExplorer({ element: root.appendChild(make('div', { class: 'headlight headlight-explorer' })) });
  join(page, translation, host);
}
