// Three lines of code that show the maps of any model in a notebook, with a picture of the result and a button to copy them.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { copyText } from './save.js';

const CODE = ['%pip install headlight-attention', 'import headlight', 'headlight.show(outputs, tokenizer=tokenizer, **inputs)'].join('\n');
const PICTURE = { tile: 34, gap: 3, columns: 8, rows: 3 }; // tile and gap in pixels

export class NotebookCode {
  constructor() {
    this.title = make('h2', {});
    this.description = make('p', {});
    this.picture = make('canvas', { 'aria-hidden': 'true' });
    this.copy = make('button', { type: 'button', class: 'link', onclick: () => this.copyCode() });
    this.status = make('span', { class: 'quiet', role: 'status' });
    const code = make('pre', { dir: 'ltr', tabindex: 0 }, CODE);
    this.parts = [this.title, this.description, this.picture, code, make('p', {}, this.copy, ' ', this.status)];
  }

  async copyCode() {
    try {
      await copyText(CODE);
      this.status.textContent = t('notebook_copied');
    } catch {
      this.status.textContent = t('not_saved');
    }
  }

  draw() {
    this.title.textContent = t('notebook_title');
    this.description.textContent = t('notebook_says');
    this.copy.textContent = t('notebook_copy');
    this.status.textContent = '';
  }

  /** Draws thumbnails of the head wall as a picture of the notebook widget. */
  drawPicture() {
    const { tile, gap, columns, rows } = PICTURE;
    const maps = [...document.querySelectorAll('#panel-heads .wall-grid .thumb canvas')].filter(
      (canvas) => /^\d+$/.test(canvas.parentElement?.dataset.layer ?? '') && /^\d+$/.test(canvas.parentElement?.dataset.head ?? ''),
    );
    this.picture.hidden = !maps.length; // until the wall is drawn
    Object.assign(this.picture, { width: columns * (tile + gap), height: rows * (tile + gap) });
    const context = this.picture.getContext('2d');
    context.imageSmoothingEnabled = false;
    for (const [index, map] of maps.slice(0, columns * rows).entries())
      context.drawImage(map, (index % columns) * (tile + gap), Math.floor(index / columns) * (tile + gap), tile, tile);
  }
}
