// The header: name, tagline, views, the offer of the tour, saved views, help, language and theme.

import { computesAnswers } from '../core/server.js';
import { icon, make, replace } from '../core/dom.js';
import { LANGUAGES } from '../core/languages.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { switchTheme } from '../core/theme.js';
import { setLanguage, t } from '../core/i18n.js';
import { mountTerms } from '../parts/terms.js';
import { deckButton } from './deck-button.js';
import { notebookButton } from './notebook-button.js';
import { mountViews } from './views.js';
import { Tour, isDone, mountOffer } from './tour.js';

const HELP_ICON = ['M9 2.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13z', 'M7 7.2a2 2 0 1 1 2.9 1.8c-.6.3-.9.7-.9 1.4', 'M9 12.5v.4'];
const LOGO = ['M11 4a9 9 0 0 0 0 18z', 'M15 6.5l8-2M15 13h9M15 19.5l8 2'];

/**
 * `props.value`: the views and their panels as JSON; a saved page has none.
 * @param {{ element: HTMLElement, props?: { value?: string } }} mounted
 */
export async function mount({ element, props = {} }) {
  await ready;
  const logo = icon(
    26,
    [
      { d: LOGO[0], fill: 'currentColor', stroke: 'none' },
      { d: LOGO[1], 'stroke-linecap': 'round' },
    ],
    { width: 2 },
  );
  const tagline = make('p', { class: 'line' });
  const offer = make('p', { class: 'tour-offer' });
  const views = make('div', {});
  if (props.value) mountViews(views, JSON.parse(props.value));
  const languages = make('div', { class: 'segments', role: 'group' });
  const themeIcon = icon(18, [
    { d: 'M9 2.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13z' },
    { d: 'M9 2.5a6.5 6.5 0 0 1 0 13z', fill: 'currentColor' },
  ]);
  const theme = make('button', { type: 'button', class: 'round', onclick: switchTheme }, themeIcon);
  const tour = new Tour(() => draw());
  const start = () => tour.start(help);
  const help = make('button', { type: 'button', class: 'round help', onclick: start }, icon(18, HELP_ICON));
  const skip = make('a', { class: 'skip', href: '#panel-heads' });
  skip.addEventListener('click', (event) => {
    event.preventDefault();
    set({ tab: 'heads' });
    /** @type {HTMLElement | null} */ (document.querySelector('.explorer'))?.focus();
  });
  element.classList.add('top');
  const right = make('div', { class: 'right' }, offer, computesAnswers() ? notebookButton() : null, languages, deckButton(), help, theme);
  const brand = make('div', { class: 'brand' }, make('h1', {}, 'Headlight'), tagline);
  element.append(skip, logo, brand, views, right);
  const choose = (language) => {
    setLanguage(language);
    set({ chosenLanguage: language });
  };
  const draw = () => {
    const offersTour = Boolean(computesAnswers() && document.getElementById('panel-heads')); // not on a saved page
    tagline.textContent = t('line');
    offer.hidden = !offersTour || isDone();
    help.hidden = !offersTour || !offer.hidden; // the offer starts the same tour
    if (!offer.hidden) mountOffer(offer, start);
    skip.textContent = t('skip');
    for (const attribute of ['aria-label', 'title']) {
      theme.setAttribute(attribute, t('switch_theme'));
      help.setAttribute(attribute, t('start_here'));
    }
    languages.setAttribute('aria-label', t('language'));
    const buttons = Object.entries(LANGUAGES)
      .filter(([code]) => code !== state.language)
      .map(([code, { name }]) => make('button', { type: 'button', lang: code, onclick: () => choose(code) }, name));
    replace(languages, ...buttons);
  };
  on(['language'], draw);
  addEventListener('headlight-start', start);
  draw();
  mountTerms();
}
