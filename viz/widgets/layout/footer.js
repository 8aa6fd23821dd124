// The footer: a note on how far attention can be trusted, version and licence, and a link to the API page.

import { hasServer } from '../core/server.js';
import { make } from '../core/dom.js';
import { urlOf, isEmbedded } from '../core/embed.js';
import { formatPermalink } from '../core/permalink.js';
import { ready } from '../core/page.js';
import { on, set } from '../core/state.js';
import { t } from '../core/i18n.js';

const GRADIO = '.gradio-container footer .show-api'; // opens Gradio's API page; our style hides the button

const openPanel = () => /** @type {HTMLElement | null} */ (document.querySelector(GRADIO))?.click();

/** Opens the tab that compares attention with other attribution methods. */
function openDoubt() {
  set({ tab: 'word' });
  document.getElementById('panel-word')?.scrollIntoView({ block: 'start' });
}

/** `props.value`: the version of Headlight. */
export async function mount({ element, props }) {
  await ready;
  const line = make('p', {});
  const doubt = make('button', { type: 'button', class: 'link doubt', onclick: openDoubt });
  const licence = make('p', { class: 'licence' });
  const programs = make('button', { type: 'button', class: 'link', onclick: openPanel });
  element.classList.add('last-line');
  element.append(line, licence);
  if (hasServer()) element.append(programs); // not on a saved page
  element.append(doubt);
  const whole = make('a', { class: 'link whole', target: '_blank', rel: 'noopener' });
  const lead = () => whole.setAttribute('href', urlOf(formatPermalink(), { alone: false }));
  for (const event of ['pointerdown', 'focus', 'pointerover']) whole.addEventListener(event, lead);
  if (isEmbedded()) {
    element.append(whole);
    lead();
  }
  const draw = () => {
    whole.textContent = t('footer_whole');
    line.textContent = t('footer');
    doubt.hidden = !document.getElementById('panel-word');
    doubt.textContent = t('footer_doubt');
    licence.textContent = `Headlight ${props.value} · ${t('footer_licence')}`;
    programs.textContent = t('footer_programs');
  };
  on(['language'], draw);
  draw();
}
