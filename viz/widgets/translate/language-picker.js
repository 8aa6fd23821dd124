// Language name above a sentence, with a menu if the model supports several.

import { make } from '../core/dom.js';
import { state } from '../core/state.js';
import { languageName, t } from '../core/i18n.js';
import { ListBox } from '../parts/list-box.js';

export class LanguagePicker {
  /** `side` is source or target; `onChange` is called on selection. */
  constructor(side, onChange) {
    this.side = side;
    this.selectedCode = ''; // the model's language code; empty for its default
    this.picker = new ListBox((code) => {
      this.selectedCode = code === state.translation?.model[`default_${side}`] ? '' : code;
      onChange();
    });
    this.name = make('span', { class: 'language-name' });
    this.element = make('div', { class: 'language-side' }, this.name, this.picker.element);
  }

  /** `model`: the model of the shown translation. */
  draw(model) {
    const codes = model?.[`${this.side}s`] ?? [];
    const hasChoice = codes.length > 1;
    this.name.classList.toggle('hidden-text', hasChoice);
    this.picker.element.hidden = !hasChoice;
    if (!hasChoice) return;
    const current = state.translation?.request[`${this.side}_language`] || model[`default_${this.side}`];
    const items = codes.map((code) => ({ value: code, text: languageName(code), more: languageName(code) === code ? '' : code }));
    items.sort((a, b) => a.text.localeCompare(b.text, state.language));
    this.picker.fill({
      label: t(`option_${this.side}_language`),
      buttonText: languageName(current),
      groups: [{ name: '', items }],
      selectedValue: current,
    });
  }
}
