// "Open your own": shows a file with attention of any model in a second view. The browser reads the file; nothing is uploaded.

import { make } from '../core/dom.js';
import { state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { FilePicker } from '../parts/filepicker.js';
import { FileError } from '../recording/npz.js';
import { parseFile } from '../recording/parse-file.js';
import { RecordingView, initialState } from '../recording/recording-view.js';

export class OpenedFile {
  constructor() {
    this.view = null;
    this.turn = 0;
    this.name = make('summary', {});
    this.description = make('p', { class: 'quiet' });
    this.picker = new FilePicker('.npz,.json', (file) => this.open(file));
    this.error = make('p', { class: 'error', role: 'alert' });
    this.content = make('div', {});
    this.element = make('details', { class: 'own-file' }, this.name, this.description, this.picker.element, this.error, this.content);
    addEventListener('headlight-open-file', () => {
      this.element.open = true;
      this.element.scrollIntoView({ block: 'start' });
      this.picker.button.focus();
    });
    this.element.addEventListener('dragover', (event) => event.preventDefault());
    this.element.addEventListener('drop', (event) => {
      event.preventDefault();
      this.open(event.dataTransfer.files[0]);
    });
  }

  async open(file) {
    if (!file) return;
    const turn = ++this.turn;
    this.error.textContent = '';
    try {
      const recording = await parseFile(file);
      if (turn !== this.turn) return;
      this.clear();
      const element = make('section', { class: 'headlight headlight-recorded' });
      this.content.replaceChildren(element);
      const keys = () => state.tab === 'heads' && this.hasFocus();
      this.view = new RecordingView(element, recording, { store: initialState(recording), keys });
    } catch (error) {
      if (turn !== this.turn) return;
      this.clear(); // maps of another file would look like those of this one
      if (!(error instanceof FileError)) console.error(error);
      const { word, values } = error instanceof FileError ? error : new FileError('broken');
      const kind = values.kind ? { kind: t(`kind_${values.kind}`) } : {};
      this.error.textContent = t(`opened_${word}`, { ...values, ...kind });
    }
  }

  /** No file is shown. */
  clear() {
    this.view?.destroy();
    this.view = null;
    this.content.replaceChildren();
  }

  /** Whether the focus is in this view, so that keys apply to it. */
  hasFocus() {
    return this.content.contains(document.activeElement);
  }

  draw() {
    this.name.textContent = t('open_your_own');
    this.description.textContent = t('open_your_own_says');
    this.picker.draw(t('open_your_own'));
  }
}
