// Button for saved views. The modules of the deck load when a view is saved or opened, or if the URL contains a deck.

import { computesAnswers } from '../core/server.js';
import { loadLazy } from '../core/boot.js';
import { icon, make } from '../core/dom.js';
import { on, set, state } from '../core/state.js';
import { t } from '../core/i18n.js';

const STORAGE_KEY = 'headlight-deck';
const ICON = ['M3 7h12v8H3z', 'M5 4.500h8', 'M7 2h4'];
const hasDeck = (hash) => /[#&]deck=/.test(hash);

/** Creates the button, which is hidden until a view is saved. */
export function deckButton() {
  const withDeck = async (action) => {
    try {
      const { mount } = await loadLazy('deck/deck.js');
      action(mount());
    } catch (error) {
      console.warn(error);
    }
  };
  const button = make(
    'button',
    { type: 'button', class: 'round deck-button', onclick: () => withDeck((deck) => deck.open()) },
    icon(18, ICON),
  );
  const followLink = (hash) => hasDeck(hash) && withDeck((deck) => deck.follow(hash));
  addEventListener('headlight-deck', (event) => {
    const { detail } = /** @type {CustomEvent} */ (event);
    if (detail === 'focus') button.focus();
    else if (Array.isArray(detail))
      withDeck((deck) => deck.receiveViews(detail, true)); // a lesson plan
    else withDeck((deck) => deck[detail]());
  });
  addEventListener('headlight-link', () => followLink(location.hash));
  const draw = () => {
    button.hidden = !state.savedViews || !computesAnswers();
    for (const attribute of ['aria-label', 'title']) button.setAttribute(attribute, t('saved_views'));
  };
  on(['savedViews', 'language'], draw);
  draw();
  set({ savedViews: countSavedViews() });
  followLink(location.hash);
  return button;
}

function countSavedViews() {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '[]').length || 0;
  } catch {
    return 0; // no localStorage, or invalid JSON
  }
}
