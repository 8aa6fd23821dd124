// The side of the sentence: the field with all that stands round it, the button, and the options that fold out.

import { make } from '../core/dom.js';
import { state } from '../core/state.js';
import { languageName, t } from '../core/i18n.js';

export class SourcePanel {
  /** `language` is its picker; `above` and `below`: what else stands round the `field`; `looks`: what its sentence looks like; `live`: its switch. `act()`: the button was pressed. */
  constructor({ language, above, field, below, looks, live, options, act }) {
    this.options = options;
    this.name = make('b', {});
    this.go = make('button', { type: 'button', class: 'go', onclick: act });
    this.hint = make('span', { class: 'quiet hint' });
    this.more = make('button', { type: 'button', class: 'link', 'aria-expanded': 'false', 'aria-controls': 'options' });
    this.more.addEventListener('click', () => this.unfold(options.hidden));
    language.name.append(make('label', { for: 'sentence' }, this.name));
    const notes = make('div', { class: 'notes' }, field.error, looks, live.says);
    this.element = make('div', { class: 'side' });
    this.element.append(
      make('div', { class: 'label-row' }, language.element, ...above),
      make('div', { class: 'field' }, field.shades, field.element),
      make('div', { class: 'under' }, this.go, this.hint, live.element, this.more, notes, ...below),
    );
  }

  unfold(open) {
    this.options.hidden = !open;
    this.more.setAttribute('aria-expanded', String(open));
  }

  /** In the reader's language; `model` is the one that answered, if one did. */
  draw(model) {
    this.name.textContent = (model && languageName(model.source)) || t('side_source');
    this.hint.textContent = t('enter_translates');
    this.more.textContent = t('options');
    this.drawButton();
  }

  drawButton() {
    this.go.textContent = t(state.busy ? 'stop' : 'translate');
    this.go.classList.toggle('stops', state.busy);
  }
}
