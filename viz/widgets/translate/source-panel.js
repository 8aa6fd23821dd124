// Source panel: the field with its controls, the button and the collapsible options.

import { make } from '../core/dom.js';
import { state } from '../core/state.js';
import { languageName, t } from '../core/i18n.js';

export class SourcePanel {
  /**
   * `language` is its picker, `above` and `below` the elements around `field`, `hint` the language hint, `live` its
   * switch. `onClick()` is called when the button is clicked.
   */
  constructor({ language, above, field, below, hint, live, options, onClick }) {
    this.options = options;
    this.name = make('b', {});
    this.invitation = make('span', { class: 'invites' });
    this.go = make('button', { type: 'button', class: 'go', onclick: onClick });
    this.more = make('button', { type: 'button', class: 'link', 'aria-expanded': 'false', 'aria-controls': 'options' });
    this.more.addEventListener('click', () => this.expandOptions(options.hidden));
    language.name.append(make('label', { for: 'sentence' }, this.name));
    const notes = make('div', { class: 'notes' }, field.error, hint, live.description);
    this.element = make('div', { class: 'side' });
    const label = make('div', { class: 'edge-label' }, language.element, this.invitation);
    this.element.append(
      make('div', { class: 'label-row' }, ...above),
      make('div', { class: 'field' }, label, field.element, field.shades),
      make('div', { class: 'actions' }, this.go, live.element, this.more),
      make('div', { class: 'under' }, notes, ...below),
    );
  }

  expandOptions(isExpanded) {
    this.options.hidden = !isExpanded;
    this.more.setAttribute('aria-expanded', String(isExpanded));
  }

  /** Draw in the visitor's language; `model`: the model of the shown translation, if any. */
  draw(model, isAnswered) {
    this.name.textContent = (model && languageName(model.source)) || t('side_source');
    this.invitation.textContent = t('sentence_invites');
    this.more.textContent = t('options');
    this.drawButton(isAnswered);
  }

  /** `isAnswered`: whether the displayed translation answers the current request; the button is then less prominent. */
  drawButton(isAnswered) {
    this.go.textContent = t(state.busy ? 'stop' : 'translate');
    this.go.classList.toggle('stops', state.busy);
    this.go.classList.toggle('answered', isAnswered);
  }
}
