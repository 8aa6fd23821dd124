// The One-word tab: the account of an output word, its attribution to the source words, the logit lens, and the terms of
// its logit.
// The methods are requested one at a time, and only while the tab is open. A static page has no server, so it omits the
// method table.

import { make, replace } from '../core/dom.js';
import { ready } from '../core/page.js';
import { isWord } from '../core/default-head.js';
import { on, set, state } from '../core/state.js';
import { axes } from '../core/map-view.js';
import { chooseWord, getWordPosition } from '../core/written-word.js';
import { t } from '../core/i18n.js';
import { Account } from './account.js';
import { LogitLens } from './logit-lens.js';
import { MethodTable } from './method-table.js';

/** @param {import('../core/server.js').Mounted} mounted */
export async function mount({ element, server, props }) {
  await ready;
  new AttributionTab(element, server, JSON.parse(props.config));
}

class AttributionTab {
  /** @param {import('../core/server.js').Server} server */
  constructor(root, server, config) {
    this.root = root;
    this.radioLabel = make('span', { class: 'quiet', id: 'word-writing' });
    this.radioGroup = make('div', { class: 'written', role: 'radiogroup', 'aria-labelledby': 'word-writing' });
    this.account = new Account(server);
    this.methods = server.run_method ? new MethodTable(server, config) : null;
    this.logitLens = new LogitLens(server);
    const picker = make('div', { class: 'pick' }, this.radioLabel, this.radioGroup);
    root.append(picker, this.account.element, this.methods?.element ?? '', this.logitLens.element);
    this.radioGroup.addEventListener('keydown', (event) => this.onKeyDown(event));
    const fields = ['tab', 'translation', 'row', 'kind', 'word', 'rival', 'layer', 'head', 'language', 'theme', 'palette'];
    on(fields, () => this.update());
    on(['busy'], () => root.classList.toggle('busy', state.busy));
    this.update();
  }

  update() {
    if (state.tab !== 'word' || !state.translation) {
      this.methods?.stop();
      return;
    }
    const { translation } = state;
    const words = listOutputWords(translation);
    const wordIndex = findWordIndex(words);
    this.drawWords(words, wordIndex);
    this.account.show(translation, words[wordIndex]);
    this.methods?.show(translation, words[wordIndex]);
    this.logitLens.show(translation, words[wordIndex]);
  }

  drawWords(words, selectedIndex) {
    this.radioLabel.textContent = t('word_writing');
    const focused = this.radioGroup.contains(document.activeElement);
    const buttons = words.map((word, index) => {
      const attributes = {
        type: 'button',
        role: 'radio',
        'aria-checked': String(index === selectedIndex),
        tabindex: index === selectedIndex ? 0 : -1,
      };
      const onclick = () => this.selectToken(word.places[0]);
      return make('button', { ...attributes, class: word.special ? 'token special' : 'token', onclick }, make('bdi', {}, word.label));
    });
    replace(this.radioGroup, ...buttons);
    if (focused) buttons[selectedIndex].focus({ preventScroll: true });
  }

  /** Selects the word of a target token. */
  selectToken(tokenIndex) {
    set(chooseWord(state.translation, state, state.kind, tokenIndex));
  }

  onKeyDown(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const words = listOutputWords(state.translation);
    this.selectToken(words[(findWordIndex(words) + step + words.length) % words.length].places[0]);
  }
}

/** The words of the translation, each with its token positions. A special token is a word of its own. */
function listOutputWords(translation) {
  const { rows } = axes(translation, 'cross', { words: true, special: true });
  return rows.map(({ label, places, special }) => ({ label, places: [...places], special }));
}

/** Index of the explained word. Default: the first word with letters, or 0 if no word has any. */
function findWordIndex(words) {
  const position = getWordPosition(state.translation, state);
  return Math.max(
    0,
    words.findIndex((word) => (position === null ? isWord(word) : word.places.includes(position))),
  );
}
