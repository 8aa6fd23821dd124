// The translate form collapsed to one line on tabs with their own content.

import { make, replace } from '../core/dom.js';
import { on, state } from '../core/state.js';
import { languageName, t } from '../core/i18n.js';

const COLLAPSING_TABS = new Set(['learn', 'decoding', 'why', 'sentiment', 'models']);

export class CollapsedForm {
  /** `root` is the translate form; `onExpand()` is called after it is expanded. */
  constructor(root, onExpand) {
    this.root = root;
    this.onExpand = onExpand;
    this.isExpanded = false; // whether the visitor has expanded the form; reset on tab change
    this.sourceLanguage = make('span', { class: 'quiet' });
    this.source = make('bdi', { class: 'sentence-line' });
    this.targetLanguage = make('span', { class: 'quiet' });
    this.target = make('bdi', { class: 'sentence-line' });
    const arrow = make('span', { class: 'quiet', 'aria-hidden': 'true' }, '→');
    this.line = make('p', { class: 'both' }, this.sourceLanguage, this.source, arrow, this.targetLanguage, this.target);
    this.button = make('button', { type: 'button', class: 'link change', onclick: () => this.setExpanded(!this.isExpanded) });
    this.element = make('div', { class: 'desk-line' }, this.line, this.button);
    this.line.addEventListener('click', () => getSelection()?.isCollapsed && this.setExpanded(true));
    on(['tab', 'beamer'], () => this.setExpanded(false, false));
    on(['translation', 'language', 'busy'], () => this.draw());
    this.draw();
  }

  /** Whether the form collapses on this tab. It always does in presentation mode. */
  get collapses() {
    return COLLAPSING_TABS.has(state.tab) || state.beamer;
  }

  /** Expands or collapses the form. `movesFocus`: whether to focus the field or the button. */
  setExpanded(isExpanded, movesFocus = true) {
    this.isExpanded = isExpanded && this.collapses;
    this.draw();
    if (!movesFocus || !this.collapses) return;
    if (this.isExpanded) this.onExpand();
    else this.button.focus();
  }

  draw() {
    const { translation, busy } = state;
    this.root.classList.toggle('away', state.tab === 'own'); // that tab shows no translation
    const isCollapsed = this.collapses && !this.isExpanded && Boolean(translation);
    this.root.classList.toggle('folded', isCollapsed);
    this.element.hidden = !this.collapses || !translation;
    this.line.hidden = !isCollapsed;
    this.button.textContent = t(isCollapsed ? 'desk_change' : 'desk_fold');
    this.button.setAttribute('aria-expanded', String(!isCollapsed));
    this.line.classList.toggle('loading', busy);
    if (!translation) return;
    const { model } = translation;
    replace(this.sourceLanguage, model.source ? languageName(model.source) : t('side_source'));
    replace(this.targetLanguage, model.target ? languageName(model.target) : t('side_target'));
    Object.assign(this.source, { textContent: translation.source_text, lang: model.source, title: translation.source_text });
    Object.assign(this.target, { textContent: translation.text, lang: model.target, title: translation.text });
  }
}
