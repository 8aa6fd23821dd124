// What must be there before anything is drawn: the language, the colours, and what the address asks for.

import { readLink, watchState } from './link.js';
import { set, state } from './state.js';
import { loadTheme } from './theme.js';
import { browserLanguage, speak } from './words.js';

export const ready = (async () => {
  const { request, language, ...selection } = readLink();
  await Promise.all([speak(language ?? browserLanguage()), loadTheme()]);
  set(selection);
  watchState();
  addEventListener('hashchange', () => {
    const { request: asked, language: other, ...next } = readLink();
    if (other && other !== state.language) speak(other);
    set(next);
    dispatchEvent(new CustomEvent('headlight-link'));
  });
})();
