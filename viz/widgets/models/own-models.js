// The column next to the models: a button to open attention from a file, and code to show the visitor's own model in a notebook.

import { make } from '../core/dom.js';
import { state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { FilePicker } from '../parts/filepicker.js';
import { NotebookCode } from '../parts/notebook-code.js';

const openFile = (file) => dispatchEvent(new CustomEvent('headlight-file', { detail: { file } }));

export class OwnModels {
  constructor() {
    this.title = make('h2', { id: 'models-own' });
    this.description = make('p', {});
    this.picker = new FilePicker('.npz,.json', openFile);
    this.sample = make('button', { type: 'button', class: 'link', onclick: () => openFile(null) });
    this.code = new NotebookCode();
    const area = make('div', { class: 'file-area' }, this.description, make('div', { class: 'buttons' }, this.picker.element, this.sample));
    this.element = make(
      'aside',
      { class: 'own-models', 'aria-labelledby': 'models-own' },
      make('section', {}, this.title, area),
      make('section', { class: 'notebook-code' }, ...this.code.parts),
    );
  }

  draw() {
    this.title.textContent = t('tab_own');
    this.description.textContent = t('models_own_says');
    this.picker.draw(t('tab_own'));
    this.sample.textContent = t('own_sample');
    this.sample.hidden = !state.translation;
    this.code.draw();
    this.code.drawPicture();
  }
}
