// The page saved as a file: header, sentence, translation and the Heads tab. It needs no server.

import { Translation } from './core/translation.js';
import { make } from './core/dom.js';
import { selectionFrom } from './core/fields.js';
import { parsePermalink, clampSelection } from './core/permalink.js';
import { ready } from './core/page.js';
import { readSavedAnswer } from './core/saved-answer.js';
import { DEFAULTS, on, set, state } from './core/state.js';
import { languageName, setLanguage } from './core/i18n.js';
import { mount as mountFooter } from './layout/footer.js';
import { mount as mountHeader } from './layout/header.js';
import { mount as mountExplorer } from './heads/heads-tab.js';
import { TranslatedText } from './parts/translated-text.js';

export async function open(root) {
  const { answer: values, selection, language, version } = globalThis.headlightData;
  const saved = new Translation(readSavedAnswer(values));
  document.body.classList.toggle('dark', matchMedia('(prefers-color-scheme: dark)').matches);
  await ready;
  setLanguage(state.chosenLanguage ?? language);
  const { request, language: _, ...linked } = parsePermalink(); // a permalink in the address overrides the saved selection
  const shownSelection = { ...selectionFrom(selection), ...linked };
  set({ translation: saved, ...shownSelection, ...clampSelection(saved, shownSelection), tab: DEFAULTS.tab });
  const part = (name) => root.appendChild(make('div', { class: `headlight headlight-${name}` }));
  await mountHeader({ element: part('header') });
  renderSentences(part('translate'), saved);
  await mountExplorer({ element: part('explorer') });
  await mountFooter({ element: part('footer'), props: { value: version } });
}

function renderSentences(element, translation) {
  const source = make('b', {});
  const target = make('b', {});
  const panel = new TranslatedText(() => {});
  const sides = [
    [source, make('div', { class: 'text', lang: translation.model.source, dir: 'auto' }, translation.source_text)],
    [target, panel.element],
  ];
  element.classList.add('translate');
  for (const [name, text] of sides) {
    element.append(make('div', { class: 'side' }, make('div', { class: 'label-row' }, name), make('div', { class: 'out' }, text)));
  }
  element.append(panel.popup);
  const draw = () => {
    source.textContent = languageName(translation.model.source);
    target.textContent = languageName(translation.model.target);
    panel.show(translation.target, translation.text, { language: translation.model.target });
  };
  on(['language'], draw);
  draw();
}
