// Initialises language, theme and permalink before the first render.

import { isEmbedded } from './embed.js';
import { chooseSelection, parsePermalink, syncAddress } from './permalink.js';
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
  if (location.protocol !== 'about:') syncAddress(); // an iframe in a notebook has no URL
  addEventListener('hashchange', onHashChange);
})();

/** Restores the view of a changed permalink, as on page load. */
function onHashChange() {
  const link = /** @type {any} */ (parsePermalink());
  const { language } = link;
  if (language) {
    setLanguage(language);
    set({ chosenLanguage: language });
  }
  dispatchEvent(new CustomEvent('headlight-link')); // if the sentence changes, its translation sets the selection
  const selection = state.translation && !state.busy ? chooseSelection(state.translation, link) : {};
  set({ ...selection, tab: knownTab(link.tab) });
}

/** The tab, or the first one if this page does not have it. */
function knownTab(tab = DEFAULTS.tab) {
  const panel = document.getElementById(`panel-${tab}`) ?? document.querySelector('[id^="panel-"]');
  return panel ? panel.id.slice('panel-'.length) : DEFAULTS.tab;
}
