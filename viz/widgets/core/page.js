// Initialises language, theme and permalink before the first render.

import { embedded } from './embed.js';
import { lookOf, readLink, watchState } from './link.js';
import { DEFAULTS, set, state } from './state.js';
import { followTheme } from './theme.js';
import { browserLanguage, speak } from './words.js';

export const ready = (async () => {
  const { request, language, ...selection } = readLink();
  speak(language ?? browserLanguage());
  followTheme();
  set(language ? { ...selection, chosenLanguage: language } : selection);
  if (embedded()) {
    document.documentElement.classList.add('embed');
    set({ tab: DEFAULTS.tab });
  }
  if (location.protocol !== 'about:') watchState(); // a frame in a notebook has no address
  addEventListener('hashchange', follow);
})();

/** A new address on an open page has the same meaning as for a new visitor. */
function follow() {
  const wanted = /** @type {any} */ (readLink());
  const { language } = wanted;
  if (language) {
    speak(language);
    set({ chosenLanguage: language });
  }
  dispatchEvent(new CustomEvent('headlight-link')); // another sentence: its translation brings heads and words that it has
  const look = state.translation && !state.busy ? lookOf(state.translation, wanted) : {};
  set({ ...look, tab: known(wanted.tab) });
}

/** A tab that this page has. */
function known(tab = DEFAULTS.tab) {
  const panel = document.getElementById(`panel-${tab}`) ?? document.querySelector('[id^="panel-"]');
  return panel ? panel.id.slice('panel-'.length) : DEFAULTS.tab;
}
