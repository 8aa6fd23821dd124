// Initialises language, theme and permalink before the first render.

import { isEmbedded } from './embed.js';
import { selectionFor, parsePermalink, syncAddress } from './permalink.js';
import { DEFAULTS, set, state } from './state.js';
import { followTheme } from './theme.js';
import { browserLanguage, setLanguage } from './i18n.js';

export const ready = (async () => {
  const { request, language, ...selection } = parsePermalink();
  setLanguage(language ?? browserLanguage());
  followTheme();
  set(language ? { ...selection, chosenLanguage: language } : selection);
  if (isEmbedded()) {
    document.documentElement.classList.add('embed');
    set({ tab: DEFAULTS.tab });
  }
  if (location.protocol !== 'about:') syncAddress(); // a frame in a notebook has no address
  addEventListener('hashchange', onHashChange);
})();

/** A new address on an open page has the same meaning as for a new visitor. */
function onHashChange() {
  const wanted = /** @type {any} */ (parsePermalink());
  const { language } = wanted;
  if (language) {
    setLanguage(language);
    set({ chosenLanguage: language });
  }
  dispatchEvent(new CustomEvent('headlight-link')); // another sentence: its translation brings heads and words that it has
  const look = state.translation && !state.busy ? selectionFor(state.translation, wanted) : {};
  set({ ...look, tab: knownTab(wanted.tab) });
}

/** A tab that this page has. */
function knownTab(tab = DEFAULTS.tab) {
  const panel = document.getElementById(`panel-${tab}`) ?? document.querySelector('[id^="panel-"]');
  return panel ? panel.id.slice('panel-'.length) : DEFAULTS.tab;
}
