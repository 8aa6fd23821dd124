// A head's contribution over a corpus: its mean effect, the words that it reads, its alignment error rate, and example
// sentences by ascending effect.

import { make, replace } from '../core/dom.js';
import { formatSigned, twoDecimals } from '../core/map-view.js';
import { sentenceGap, t } from '../core/i18n.js';
import { headName } from '../parts/head-names.js';

const formatErrorRate = ({ error_rate: rate, low, high }) => ({ rate: twoDecimals(rate), low: twoDecimals(low), high: twoDecimals(high) });

export class HeadEffect {
  /** @param {(text: string) => void} open called with a sentence */
  constructor(open) {
    this.text = make('p', { class: 'explained' });
    this.title = make('h3', {});
    this.list = make('ol', {});
    this.examples = make('div', { class: 'examples' }, this.title, this.list);
    this.list.addEventListener('click', ({ target }) => {
      const { text } = /** @type {HTMLElement} */ (target).closest('button')?.dataset ?? {};
      if (text) open(text);
    });
  }

  /** `atlas`: the report of the model, or null. */
  draw(atlas, { kind, layer, head }) {
    const entry = atlas?.heads?.[kind]?.[layer]?.[head];
    this.text.hidden = this.examples.hidden = !entry;
    if (!entry) return;
    const { effect, spread, reads, deciles } = entry;
    const values = { head: headName(layer, head), count: atlas.sentences, effect: formatSigned(effect, 2), spread: twoDecimals(spread) };
    const words = reads.map(([word, lift]) => t('atlas_word', { word, lift: lift.toFixed(1) })).join(t('list_comma'));
    const sentences = [t('atlas_effect', values), ...(reads.length ? [t('atlas_reads', { words })] : [])];
    const rate = kind === 'cross' && atlas.aligning.find((item) => item.layer === layer && item.head === head);
    if (rate) sentences.push(t(rate.shift ? 'atlas_aligns_late' : 'atlas_aligns', formatErrorRate(rate)));
    this.text.textContent = sentences.join(sentenceGap());
    this.title.textContent = t('atlas_examples');
    const item = (number) => {
      const text = atlas.texts[number];
      return make('li', {}, make('button', { type: 'button', class: 'link', data: { text } }, make('bdi', {}, text)));
    };
    replace(this.list, ...[...new Set(deciles)].map(item));
  }
}
