// Interventions other than heads: words, positions, parts of a layer, and a single attention weight.

import { make, replace } from '../core/dom.js';
import { reconcile } from '../core/reconcile.js';
import { state } from '../core/state.js';
import { t } from '../core/i18n.js';
import {
  setInterventions,
  interventions,
  interventionText,
  canRedo,
  canUndo,
  characterOffset,
  replaceIntervention,
  redo,
  undo,
} from './interventions.js';
import { factorText } from './changed-sentence.js';
import { MinimalPair } from './minimal-pair.js';

const SIDES = ['encoder', 'decoder'];
const MIN_CHANGE = 0.005; // nats; a smaller effect is not shown
/** @type {[string, any][]} */
const POSITION_OPTIONS = [
  ['', null],
  ['no_positions', { action: 'no_positions' }],
  ['shuffle', { action: 'shuffle', amount: 1 }],
  ['shift', { action: 'shift', amount: 3 }],
];

const button = (key, onClick, attributes = {}) =>
  make('button', { type: 'button', class: 'link', onclick: onClick, ...attributes }, t(key));

/** The interventions, each with a button that removes it; undo, redo and reset. */
export class InterventionChips {
  constructor() {
    this.title = make('h3', {});
    this.history = make('div', { class: 'steps' });
    this.chips = make('div', { class: 'chips' });
    this.element = make('section', { class: 'changes' }, make('div', { class: 'topline' }, this.title, this.history), this.chips);
  }

  draw(sentence) {
    const list = interventions();
    const hadFocus = this.element.contains(document.activeElement);
    const chip = (intervention, index) => {
      const description = interventionText(intervention, sentence);
      const remove = () => setInterventions(list.filter((_, otherIndex) => otherIndex !== index));
      return make(
        'button',
        { type: 'button', class: 'chip', onclick: remove, 'aria-label': t('whatif_take_away', { change: description }) },
        description,
        make('i', { 'aria-hidden': 'true' }, ' ×'),
      );
    };
    this.title.textContent = t('whatif_changed');
    reconcile(this.chips, ...(list.length ? list.map(chip) : [make('p', { class: 'quiet' }, t('whatif_changed_nothing'))]));
    const historyButton = (key, onClick, isEnabled) => button(key, onClick, { disabled: !isEnabled });
    reconcile(
      this.history,
      historyButton('whatif_undo', undo, canUndo()),
      historyButton('whatif_redo', redo, canRedo()),
      historyButton('whatif_reset', () => setInterventions([]), list.length > 0),
    );
    const hasFocus = this.element.contains(document.activeElement) && !document.activeElement.matches(':disabled');
    if (hadFocus && !hasFocus) this.element.querySelector('button:not([disabled])')?.focus({ preventScroll: true });
  }
}

/** Example interventions, one click each; the active one shows its effect. */
export class TryList {
  /** `getExamples()` returns named lists of interventions: {name, list}. */
  constructor(getExamples) {
    this.getExamples = getExamples;
    this.title = make('h3', {});
    this.list = make('div', { class: 'tries' });
    this.element = make('section', {}, this.title, this.list);
  }

  /** `result`: the server's result for the current interventions, or null. */
  draw(result) {
    this.title.textContent = t('whatif_try');
    const currentKey = JSON.stringify(interventions());
    const change = result && result.after - result.before;
    const row = ({ name, list }) => {
      const isActive = JSON.stringify(list) === currentKey;
      const hasEffect = isActive && change !== null && Math.abs(change) > MIN_CHANGE;
      return make(
        'button',
        { type: 'button', class: 'try', 'aria-pressed': String(isActive), onclick: () => setInterventions(isActive ? [] : list) },
        make('span', {}, name),
        hasEffect
          ? make('span', { class: 'numeric' }, t(change < 0 ? 'whatif_try_less' : 'whatif_try_more', { times: factorText(change) }))
          : null,
      );
    };
    reconcile(this.list, ...this.getExamples().map(row));
  }
}

/** The words of the sentence; a click on a word opens its menu. */
export class SourceWords {
  constructor() {
    this.title = make('h3', {});
    this.description = make('p', { class: 'quiet' });
    this.words = make('div', { class: 'source-words' });
    this.wordMenu = make('form', { class: 'asks', hidden: true, onsubmit: (event) => this.swap(event) });
    this.pair = new MinimalPair();
    const parts = [this.title, this.description, this.words, this.wordMenu, this.pair.element];
    this.element = make('section', { class: 'sentence-words' }, ...parts);
    this.selectedWord = null;
    this.translation = null;
  }

  draw(translation) {
    // The menu stays open while the translation is the same.
    if (this.selectedWord && this.translation !== translation) this.openMenu(null);
    this.translation = translation;
    this.title.textContent = t('whatif_words');
    this.description.textContent = t('whatif_words_say');
    this.words.lang = translation.model.source;
    this.pair.draw(translation);
    const list = interventions();
    reconcile(
      this.words,
      ...listWords(translation).map((word) => {
        const intervention = list.find((entry) => entry.start === word.first && entry.end === word.last);
        const onClick = () =>
          intervention ? replaceIntervention((item) => item.start === word.first && item.end === word.last) : this.openMenu(word);
        const attributes = {
          type: 'button',
          class: intervention ? `source-word ${intervention.action}` : 'source-word',
          onclick: onClick,
          'aria-pressed': String(Boolean(intervention)),
        };
        return make('button', attributes, intervention?.action === 'swap' ? intervention.text : word.text);
      }),
    );
  }

  /** Open the menu of a word; close it for `null`. */
  openMenu(word) {
    this.selectedWord = word;
    this.wordMenu.hidden = !word;
    if (!word) return;
    this.field = make('input', {
      type: 'text',
      'aria-label': t('whatif_swap_for', { word: word.text }),
      placeholder: t('whatif_swap_for', { word: word.text }),
      maxlength: 60,
    });
    const adder = (action) => () => this.changeWord(action);
    replace(
      this.wordMenu,
      make('b', {}, word.text),
      button('whatif_mask', adder('mask')),
      button('whatif_erase', adder('erase')),
      this.field,
      make('button', { type: 'submit', class: 'link' }, t('whatif_swap')),
    );
    this.wordMenu.querySelector('button').focus({ preventScroll: true });
  }

  swap(event) {
    event.preventDefault();
    if (this.field.value.trim()) this.changeWord('swap', { text: this.field.value.trim() });
  }

  /** Sets an intervention on the selected word, in place of those that overlap it. */
  changeWord(action, fields = {}) {
    const { first, last } = this.selectedWord;
    this.openMenu(null);
    replaceIntervention((item) => item.start < last && item.end > first, { action, start: first, end: last, ...fields });
  }
}

/** The words of the source as {text, first, last}: offsets of the word's start and end in code points, as the server counts. */
function listWords({ source, source_text: text }) {
  const words = [];
  for (const token of source) {
    if (token.special || token.end <= token.start) continue;
    const previous = words.at(-1);
    if (previous && token.word !== null && token.word === previous.word) previous.end = token.end;
    else words.push({ word: token.word, start: token.start, end: token.end });
  }
  return words.map(({ start, end }) => {
    const span = text.slice(start, end); // may begin or end with a space
    const wordStart = start + span.length - span.trimStart().length;
    const wordEnd = wordStart + span.trim().length;
    return { text: span.trim(), first: characterOffset(text, wordStart), last: characterOffset(text, wordEnd) };
  });
}

/** Position encodings of encoder and decoder, and the parts of the visible layer. */
export class LayerParts {
  constructor() {
    this.title = make('h3', {});
    this.menus = make('div', { class: 'menus' });
    this.element = make('section', {}, this.title, this.menus);
  }

  draw() {
    this.title.textContent = t('whatif_parts');
    const list = interventions();
    const focusedIndex = this.menus.contains(document.activeElement)
      ? [...this.menus.querySelectorAll('select, input')].indexOf(document.activeElement)
      : -1;
    const menus = SIDES.map((side) => {
      const selectedAction = list.find((intervention) => intervention.side === side && intervention.action !== 'zero')?.action ?? '';
      const onchange = (event) => {
        const [, option] = POSITION_OPTIONS.find(([name]) => name === event.target.value);
        replaceIntervention((entry) => entry.side === side && entry.action !== 'zero', option && { ...option, side });
      };
      const menu = make(
        'select',
        { onchange },
        ...POSITION_OPTIONS.map(([name]) => make('option', { value: name }, t(`whatif_positions_${name || 'kept'}`))),
      );
      menu.value = selectedAction;
      return make('label', {}, `${t(`whatif_positions_${side}`)} `, menu);
    });
    const layer = typeof state.layer === 'number' ? state.layer : 0;
    const side = state.kind === 'encoder' ? 'encoder' : 'decoder';
    const checks = ['feed_forward', 'residual'].map((part) => {
      const removesPart = (item) => item.action === 'zero' && item.side === side && item.layer === layer && item.part === part;
      const onchange = (event) => replaceIntervention(removesPart, event.target.checked ? { action: 'zero', side, layer, part } : null);
      const box = make('input', { type: 'checkbox', onchange });
      box.checked = list.some(removesPart);
      return make('label', { class: 'check' }, box, ` ${t(`whatif_without_${part}`, { side: t(`whatif_${side}`), layer: layer + 1 })}`);
    });
    reconcile(this.menus, ...menus, ...checks);
    const hasFocus = this.menus.contains(document.activeElement);
    if (focusedIndex >= 0 && !hasFocus) this.menus.querySelectorAll('select, input')[focusedIndex]?.focus({ preventScroll: true });
  }
}
