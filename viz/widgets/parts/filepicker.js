// A button that chooses a file. The browser's own one says its words in the browser's language, whatever the page speaks.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';

export class FilePicker {
  /** `take(file)` gets what was chosen; the same file may be chosen again. */
  constructor(accept, take) {
    this.input = make('input', { type: 'file', accept, hidden: true });
    this.input.addEventListener('change', () => {
      const [file] = this.input.files;
      this.input.value = '';
      take(file);
    });
    this.button = make('button', { type: 'button', class: 'link', onclick: () => this.input.click() });
    this.element = make('div', { class: 'file-picker' }, this.button, this.input);
  }

  /** `about`: what the file is for, to whoever hears the button's name alone. */
  draw(about) {
    this.button.textContent = t('choose_file');
    this.button.setAttribute('aria-label', `${t('choose_file')}: ${about}`);
  }
}
