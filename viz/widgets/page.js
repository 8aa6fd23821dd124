// What must be there before anything is drawn: the language, the colours, and what the address asks for.

import { restoreSelection, watchState } from './link.js';
import { set, state } from './state.js';
import { loadTheme } from './theme.js';
import { browserLanguage, speak } from './words.js';
import { readLink } from './link.js';

export const ready = (async () => {
  const wanted = readLink();
  await Promise.all([speak(wanted.language ?? browserLanguage()), loadTheme()]);
  set(restoreSelection(wanted));
  watchState();
  addEventListener('hashchange', () => {
    const next = readLink();
    if (next.language && next.language !== state.language) speak(next.language);
    set(restoreSelection(next));
    dispatchEvent(new CustomEvent('headlight-link'));
  });
})();
