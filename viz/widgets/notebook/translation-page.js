// A translation in a notebook: the Heads tab, as on a saved page.

import { Translation } from '../core/translation.js';
import { make } from '../core/dom.js';
import { readSavedAnswer } from '../core/saved-answer.js';
import { DEFAULTS, pageStore, set, state } from '../core/state.js';
import { mount as mountExplorer } from '../heads/heads-tab.js';
import { syncSelection, parseSelection } from './selection-sync.js';

export function openTranslation(root, values, host) {
  const translation = new Translation(readSavedAnswer(values));
  set({ translation, tab: DEFAULTS.tab, ...parseSelection(translation, { ...state, translation }, host.getSelection()) });
  mountExplorer({ element: root.appendChild(make('div', { class: 'headlight headlight-explorer' })) });
  syncSelection(pageStore, translation, host);
}
