// Shows a file with the attention of any model. The browser reads the file; nothing is uploaded.

import { make, updateScrollable } from '../core/dom.js';
import { ready } from '../core/page.js';
import { on, set, state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { FilePicker } from '../parts/filepicker.js';
import { saveBytes } from '../parts/save.js';
import { FileError } from './npz.js';
import { parseFile } from './parse-file.js';
import { RecordingView, createViewStore } from './recording-view.js';
import { makeSampleFile } from './sample-file.js';

const FILE_TYPES = ['.npz', '.json'];
const RECIPE = [
  'outputs = model(**inputs, output_attentions=True)',
  'np.savez("own.npz", tokens=tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]),',
  '         attentions=np.stack([layer[0].numpy(force=True) for layer in outputs.attentions]))',
].join('\n');

/** @param {import('../core/server.js').Mounted} mounted */
export async function mount({ element }) {
  await ready;
  new OpenedFile(element);
}

class OpenedFile {
  constructor(root) {
    this.view = null;
    this.generation = 0; // incremented to discard files opened earlier
    this.description = make('p', { class: 'lead' });
    this.picker = new FilePicker(FILE_TYPES.join(), (file) => this.open(file));
    const link = (onClick) => make('button', { type: 'button', class: 'link', onclick: onClick });
    this.sampleButton = link(() => this.open(makeSampleFile(state.translation)));
    this.saveButton = link(() => {
      const file = makeSampleFile(state.translation);
      saveBytes(file.name, [file], file.type);
    });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.content = make('div', {});
    const links = make('div', { class: 'own-file-links' }, this.picker.element, this.sampleButton, this.saveButton);
    this.recipe = make('pre', { class: 'recipe' }, RECIPE);
    updateScrollable(this.recipe, 'Width');
    root.append(links, this.description, this.recipe, this.error, this.content);
    const show = (file) => {
      set({ tab: 'own' });
      this.open(file);
    };
    mountDropTarget(show);
    // Other views dispatch this event to open a file, or the sample if `detail` has none.
    addEventListener('headlight-file', ({ detail }) => show(detail.file ?? makeSampleFile(state.translation)));
    on(['tab', 'language', 'translation'], () => this.draw());
    this.draw();
  }

  async open(file) {
    if (!file) return;
    const generation = ++this.generation;
    this.error.textContent = '';
    try {
      const recording = await parseFile(file);
      if (generation !== this.generation) return;
      this.clear();
      const element = make('section', { class: 'headlight headlight-recorded' });
      this.content.replaceChildren(element);
      this.view = new RecordingView(element, recording, { store: createViewStore(recording), handlesKeys: () => state.tab === 'own' });
    } catch (error) {
      if (generation !== this.generation) return;
      this.clear(); // otherwise the previous file's maps would seem to be this file's
      if (!(error instanceof FileError)) console.error(error);
      const { word, values } = error instanceof FileError ? error : new FileError('broken');
      const kind = values.kind ? { kind: t(`kind_${values.kind}`) } : {};
      this.error.textContent = t(`opened_${word}`, { ...values, ...kind });
    }
    this.draw();
  }

  /** Closes the file. */
  clear() {
    this.view?.destroy();
    this.view = null;
    this.content.replaceChildren();
  }

  draw() {
    if (state.tab !== 'own') return;
    this.description.textContent = t('own_says');
    this.description.hidden = this.recipe.hidden = Boolean(this.view);
    this.picker.draw(t('tab_own'));
    this.sampleButton.textContent = t('own_sample');
    this.saveButton.textContent = t('own_save_sample');
    for (const button of [this.sampleButton, this.saveButton]) button.hidden = !state.translation;
  }
}

/**
 * Calls `onFile` with a file that is dropped on the page outside of other drop targets. By default, browsers navigate to a
 * dropped file.
 */
function mountDropTarget(onFile) {
  const target = make('div', { class: 'headlight drop-target', 'aria-hidden': 'true', hidden: true });
  const show = (isShown) => {
    target.hidden = !isShown;
    target.textContent = t('own_drop');
  };
  document.body.append(target);
  document.addEventListener('dragover', (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    show(!event.defaultPrevented);
    event.preventDefault();
  });
  document.addEventListener('dragleave', (event) => event.relatedTarget || show(false)); // the pointer left the window
  document.addEventListener('drop', (event) => {
    show(false);
    const [file] = event.dataTransfer?.files ?? [];
    if (!file || event.defaultPrevented) return;
    event.preventDefault();
    onFile(file);
  });
}
