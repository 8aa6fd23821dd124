// The page as a file: header, sentence, translation and the Heads tab, without a server.

import { Translation } from './core/translation.js';
import { make } from './core/dom.js';
import { selectionFrom } from './core/fields.js';
import { readLink, withinTranslation } from './core/link.js';
import { ready } from './core/page.js';
import { DEFAULTS, on, set, state } from './core/state.js';
import { languageName, speak } from './core/words.js';
import { mount as mountFooter } from './frame/footer.js';
import { mount as mountHeader } from './frame/header.js';
import { mount as mountExplorer } from './heads/explorer.js';
import { TranslatedText } from './parts/translatedtext.js';

export async function open(root) {
  const { answer: values, selection, language, version } = globalThis.headlightShown;
  const given = new Translation(values);
  document.body.classList.toggle('dark', matchMedia('(prefers-color-scheme: dark)').matches);
  await ready;
  speak(state.chosenLanguage ?? language);
  const { request, language: _, ...linked } = readLink(); // the address may hold a later selection
  const look = { ...selectionFrom(selection), ...linked };
  set({ translation: given, ...look, ...withinTranslation(given, look), tab: DEFAULTS.tab });
  const part = (name) => root.appendChild(make('div', { class: `headlight headlight-${name}` }));
  await mountHeader({ element: part('header') });
  showSentences(part('translate'), given);
  await mountExplorer({ element: part('explorer') });
  await mountFooter({ element: part('footer'), props: { value: version } });
}

function showSentences(element, translation) {
  const source = make('b', {});
  const target = make('b', {});
  const shown = new TranslatedText(() => {});
  const sides = [
    [source, make('div', { class: 'text', lang: translation.model.source, dir: 'auto' }, translation.source_text)],
    [target, shown.element],
  ];
  element.classList.add('translate');
  for (const [name, text] of sides) {
    element.append(make('div', { class: 'side' }, make('div', { class: 'label-row' }, name), make('div', { class: 'out' }, text)));
  }
  element.append(shown.popup);
  const draw = () => {
    source.textContent = languageName(translation.model.source);
    target.textContent = languageName(translation.model.target);
    shown.show(translation.target, translation.text, { language: translation.model.target });
  };
  on(['language'], draw);
  draw();
}
