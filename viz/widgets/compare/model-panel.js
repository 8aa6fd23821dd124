// Panel of one model: name, output and a wall of its heads.

import { make, replace } from '../core/dom.js';
import { state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { HeadGrid } from '../headview/head-grid.js';
import { TranslationSource } from '../headview/translation-source.js';
import { formatUnsupported } from '../parts/unsupported-rules.js';
import { pairName, searchDescription } from './second-model.js';

/** Source whose wall has single heads only, because averages and maxima are not compared between models. */
class SingleHeadSource extends TranslationSource {
  wallLayout(kind) {
    return super.wallLayout(kind, { averages: false });
  }
}

export const badge = (letter) => make('i', { class: letter === 'A' ? 'badge first' : 'badge second', 'aria-hidden': 'true' }, letter);

export class ModelPanel {
  /** `callbacks`: for the grid; `choose(head)` on click, `preview(head)` on hover, with null on leave. */
  constructor(letter, callbacks) {
    this.letter = letter;
    this.name = make('span', {});
    this.title = make('h2', {}, badge(letter), this.name);
    this.error = make('p', { class: 'error', role: 'alert' });
    this.output = make('p', { class: 'reads', dir: 'auto' });
    this.rules = make('p', { class: 'quiet rules' });
    this.grid = new HeadGrid(callbacks);
    this.element = make('section', { class: 'one', tabindex: -1 }, this.title, this.error, this.output, this.rules, this.grid.element);
    this.maps = null;
  }

  /** Draw the wall of a translation, possibly transposed; `text`: its output as nodes. */
  draw(translation, { kind, text, back = false }) {
    if (this.maps?.translation !== translation) this.maps = new SingleHeadSource(translation);
    const { name } = translation.model;
    const caption = back ? t('beside_reads_back', { pair: pairName(translation.model) }) : null;
    this.name.textContent = caption ?? t('beside_how', { pair: pairName(translation.model), search: searchDescription(translation) });
    this.title.title = name;
    this.element.setAttribute('aria-label', t('beside_side', { letter: this.letter, model: name }));
    this.element.classList.remove('vacant');
    this.output.lang = back ? translation.model.target : (translation.model.target ?? '');
    replace(this.output, ...text);
    this.rules.textContent = formatUnsupported(translation.model);
    this.grid.element.setAttribute('aria-label', t('beside_wall', { model: name }));
    this.grid.draw(this.maps, kind, state);
  }

  mark(head) {
    this.head = head;
    this.grid.updateMarks(head, (buttonHead) => (buttonHead.layer === head.layer && buttonHead.head === head.head ? this.letter : ''));
  }

  /** Empty state: loading, or no translation. */
  clear(description = '') {
    this.name.textContent = '';
    this.output.textContent = description;
    this.element.classList.add('vacant');
  }
}
