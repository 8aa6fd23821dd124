// One of two models: which it is, its translation, and a view of its heads.

import { make, replace } from '../core/dom.js';
import { page } from '../core/state.js';
import { LOOK, createStore } from '../core/store.js';
import { two } from '../core/view.js';
import { t } from '../core/words.js';
import { mount as mountHeadView } from '../headview/headview.js';
import { TranslationMaps } from '../headview/translationmaps.js';
import { leftOutSays } from '../parts/leftout.js';
import { gradeSays } from '../parts/reliability.js';
import { doubtful } from '../parts/translatedtext.js';

/** What each side has of its own: of the first model, head and kind are the page's; of the second, only the kind is. */
function storeOf(letter) {
  const { kind: _, layer, head, row, column, ...own } = LOOK;
  return createStore(letter === 'A' ? own : { ...own, layer, head, row, column }, page);
}

/** `answerOf()`: what stands on this side, or nothing yet; `does` and `open()`: as a head view takes them (headview/headview.js). */
export class Side {
  constructor(letter, { answerOf, does, open }) {
    this.letter = letter;
    this.answerOf = answerOf;
    this.store = storeOf(letter);
    this.maps = null;
    this.badge = make('i', { class: `badge ${letter === 'A' ? 'first' : 'second'}`, 'aria-hidden': 'true' }, letter);
    this.controls = make('div', { class: 'controls' }, this.badge);
    this.error = make('p', { class: 'error', role: 'alert' });
    this.reads = make('div', { class: 'reads', dir: 'auto' });
    this.meta = make('p', { class: 'quiet numeric' });
    this.beyond = make('p', { class: 'quiet' });
    this.rules = make('p', { class: 'quiet rules' });
    const part = (...children) => make('div', {}, ...children);
    this.element = make(
      'section',
      { class: 'one', tabindex: -1 },
      part(this.controls, this.error),
      this.reads,
      part(this.meta, this.beyond, this.rules),
    );
    const model = () => this.translation.model.name;
    this.heads = mountHeadView(this.element, {
      ...{ store: this.store, does, open, source: () => this.source(), parts: ['wall', 'strips', 'readout'] },
      ...{ forms: ['matrix', 'numbers'], named: true },
      wallName: () => t('beside_wall', { model: model() }),
      mapName: (head) => t('beside_map', { model: model(), head }),
    });
    this.heads.light(); // only what `light` is given is lit
  }

  get translation() {
    return this.answerOf();
  }

  source() {
    if (this.maps?.translation !== this.translation) this.maps = this.translation && new TranslationMaps(this.translation);
    return this.maps;
  }

  /** Which model it is and what it wrote; its heads draw themselves. */
  draw() {
    const { translation } = this;
    this.element.setAttribute('aria-label', t('beside_side', { letter: this.letter, model: translation.model.name }));
    this.element.classList.remove('vacant');
    this.reads.lang = translation.model.target;
    replace(this.reads, ...(translation.text.trim() ? this.written() : [t('beside_empty')]));
    this.drawMeta();
  }

  /** The head on show, chosen or only pointed at. */
  get head() {
    const { view } = this.heads;
    return view && { layer: view.layer, head: view.head };
  }

  /** The translation, letter by letter, each token with its shade of doubt. */
  written() {
    const { target, text } = this.translation;
    const shown = [];
    let end = 0;
    for (const { start, end: last, special, probability, label } of target) {
      if (special || last <= end) continue; // of the pieces of one character the first stands for all
      const title = probability === undefined ? null : t('token_probability', { token: label, probability: two(probability) });
      const shade = `background-color:${doubtful(probability)}`;
      shown.push(text.slice(end, start), make('span', { title, style: shade }, text.slice(Math.max(start, end), last)));
      end = last;
    }
    return shown.filter((part) => part !== '');
  }

  drawMeta() {
    const { translation } = this;
    const counts = { encoder: translation.layers('encoder'), decoder: translation.layers('decoder'), heads: translation.heads('encoder') };
    const { temperature, beam_size: beam } = translation.request.options;
    const log = translation.log_probability.toFixed(2).replace('-', '−');
    const told = { ...counts, beam, read: translation.source.length, written: translation.target.length, log };
    const how =
      typeof translation.request.target === 'string' ? 'beside_meta_given' : temperature > 0 ? 'beside_meta_sampled' : 'beside_meta_beam';
    replace(this.meta, ...[t('beside_meta_size', told), t(how, told), t('beside_meta_log', told)].map((part) => make('span', {}, part)));
    this.beyond.textContent = gradeSays(translation.reliability);
    this.rules.textContent = leftOutSays(translation.model);
  }

  /** Nothing to show: a first translation is on its way, or there is none. */
  clear(says = '') {
    this.reads.textContent = says;
    this.element.classList.add('vacant');
  }
}
