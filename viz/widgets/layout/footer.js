// The footer: a note about the limits of attention as an explanation, version and licence, and a link to the API page.

import { computesAnswers, hasServer, server } from '../core/server.js';
import { make } from '../core/dom.js';
import { formatEmbedUrl, isEmbedded } from '../core/embed.js';
import { formatPermalink } from '../core/permalink.js';
import { ready } from '../core/page.js';
import { on, set } from '../core/state.js';
import { t } from '../core/i18n.js';

const GRADIO_API_BUTTON = '.gradio-container footer .show-api'; // opens Gradio's API page; the page's style hides this button

const openApiPage = () => /** @type {HTMLElement | null} */ (document.querySelector(GRADIO_API_BUTTON))?.click();

/** Opens the tab that compares attention with other methods of attribution. */
function openComparison() {
  set({ tab: 'word' });
  document.getElementById('panel-word')?.scrollIntoView({ block: 'start' });
}

/** `props.value`: the version of Headlight. */
export async function mount({ element, props }) {
  await ready;
  const note = make('p', {});
  const comparisonLink = make('button', { type: 'button', class: 'link doubt', onclick: openComparison });
  const licence = make('p', { class: 'licence' });
  const apiLink = make('button', { type: 'button', class: 'link', onclick: openApiPage });
  element.classList.add('last-line');
  element.append(note, licence);
  const inBrowser = make('p', { class: 'in-browser' });
  if (hasServer())
    element.append(apiLink); // not on a saved page
  else if (computesAnswers()) element.append(inBrowser);
  element.append(comparisonLink);
  const fullPageLink = make('a', { class: 'link whole', target: '_blank', rel: 'noopener' });
  const updateLink = () => fullPageLink.setAttribute('href', formatEmbedUrl(formatPermalink(), { alone: false }));
  for (const event of ['pointerdown', 'focus', 'pointerover']) fullPageLink.addEventListener(event, updateLink);
  if (isEmbedded()) {
    element.append(fullPageLink);
    updateLink();
  }
  const draw = () => {
    fullPageLink.textContent = t('footer_whole');
    note.textContent = t('footer');
    comparisonLink.hidden = !server.run_method || !document.getElementById('panel-word'); // not on a static page
    comparisonLink.textContent = t('footer_doubt');
    licence.textContent = `Headlight ${props.value} · ${t('footer_licence')}`;
    inBrowser.textContent = t('footer_in_browser');
    apiLink.textContent = t('footer_programs');
  };
  on(['language'], draw);
  draw();
}
