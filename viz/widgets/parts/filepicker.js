// A button that opens a file dialog, labelled in the page's language. Native file inputs use the browser's language.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';

export class FilePicker {
  /** `onFile(file)` is called for each selection, even if the same file is selected again. `accept`: as in HTML. */
  constructor(accept, onFile) {
    this.input = make('input', { type: 'file', accept, hidden: true });
    this.input.addEventListener('change', () => {
      const [file] = this.input.files;
      this.input.value = '';
      onFile(file);
    });
    this.button = make('button', { type: 'button', class: 'link', onclick: () => this.input.click() });
    this.element = make('div', { class: 'file-picker' }, this.button, this.input);
  }

  /** `text`: purpose of the file, for the button's accessible name. */
  draw(text) {
    this.button.textContent = t('choose_file');
    this.button.setAttribute('aria-label', `${t('choose_file')}: ${text}`);
  }
}
