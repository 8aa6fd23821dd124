// Logit lens: each layer's prediction at each position, and each decoder part's contribution to the word's logit.

import { callWithRetry } from '../core/boot.js';
import { fadeScrollEdges, make, fillElements, replace } from '../core/dom.js';
import { LatestRequest } from '../core/latest-request.js';
import { state } from '../core/state.js';
import { cssColour, textColourOn, scaleColour } from '../core/theme.js';
import { signed, twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';

const MAX_PART_ROWS = 12; // parts with a separate row; further parts are summed

export class LogitLens {
  /** @param {import('../core/server.js').Server} server */
  constructor(server) {
    this.server = server;
    this.key = ''; // request of the answer in `result`
    this.result = null;
    this.rival = 1; // index of the word that the contributions are compared with
    this.title = make('h2', {});
    this.lensTitle = make('h3', {});
    this.lensDescription = make('p', { class: 'says' });
    this.lens = make('table', { class: 'lens' });
    this.region = make('div', { class: 'scrolls', tabindex: 0, role: 'region' }, this.lens);
    this.partsTitle = make('h3', {});
    this.partsDescription = make('p', { class: 'says' });
    this.rivals = make('div', { class: 'segments', role: 'group' });
    this.parts = make('table', { class: 'parts' });
    this.error = make('p', { class: 'error', role: 'alert' });
    this.content = make(
      'div',
      {},
      this.lensTitle,
      this.lensDescription,
      this.region,
      this.partsTitle,
      this.partsDescription,
      this.rivals,
      this.parts,
    );
    this.element = make('section', { class: 'inside' }, this.title, this.error, this.content);
    this.latest = new LatestRequest(this.content, this.error, 'error_our_fault');
    fadeScrollEdges(this.region);
  }

  /** Shows a word, represented by its first token. */
  show(translation, word) {
    this.title.textContent = t('word_inside');
    const query = { request: translation.requestValues(), token: word.places[0] };
    const key = JSON.stringify(query);
    if (this.result && key === this.key) {
      this.latest.cancel(); // a request for another word may be pending
      this.draw(translation, query.token); // language or theme may have changed
      return;
    }
    this.latest.load(
      key,
      (signal) => callWithRetry(this.server.logit_details, query, null, null, signal),
      (answer) => {
        [this.key, this.result] = [key, answer];
        this.draw(translation, query.token);
      },
    );
  }

  draw(translation, index) {
    this.drawLens(translation, index);
    this.drawParts();
  }

  drawLens(translation, selectedPosition) {
    const { layers } = this.result;
    this.lensTitle.textContent = t('word_lens');
    this.lensDescription.textContent = t('word_lens_says');
    this.region.setAttribute('aria-label', t('word_lens'));
    const heads = translation.target.map(({ label }, position) =>
      make('th', { scope: 'col', class: position === selectedPosition ? 'chosen' : '' }, make('bdi', {}, label)),
    );
    const rows = layers.map((cells, layer) => {
      const marks = cells.map(({ says, chance, own, rank }, index) => {
        const colour = scaleColour(state.palette, chance);
        const title = t('word_lens_cell', { chance: twoDecimals(chance), own: twoDecimals(own), rank: rank + 1 });
        const attributes = { class: [index === selectedPosition && 'chosen', rank === 0 && 'right'].filter(Boolean).join(' '), title };
        return make(
          'td',
          { ...attributes, style: `background:${cssColour(colour)};color:${textColourOn(colour)}` },
          make('bdi', {}, says.trim()),
        );
      });
      const name = layer ? t('word_layer', { layer }) : t('word_embedding');
      return make('tr', {}, make('th', { scope: 'row' }, name), ...marks);
    });
    replace(this.lens, make('thead', {}, make('tr', {}, make('th', {}), ...heads)), make('tbody', {}, ...rows));
  }

  drawParts() {
    const { words, logits, terms } = this.result;
    const name = (word) => make('b', {}, make('bdi', {}, word.trim()));
    this.partsTitle.textContent = t('word_parts');
    replace(this.partsDescription, ...fillElements(t('word_parts_says', { logit: twoDecimals(logits[0]) }), { word: name(words[0]) }));
    const buttons = words.slice(1).map((word, number) => {
      const pick = () => {
        this.rival = number + 1;
        this.drawParts();
        this.rivals.querySelector('[aria-pressed=true]').focus({ preventScroll: true });
      };
      return make(
        'button',
        { type: 'button', 'aria-pressed': String(number + 1 === this.rival), onclick: pick },
        make('bdi', {}, word.trim()),
      );
    });
    this.rivals.setAttribute('aria-label', t('word_rivals'));
    replace(this.rivals, make('span', { class: 'quiet' }, t('word_against')), ...buttons);
    const values = terms.map(({ effects }) => [effects[0], effects[0] - effects[this.rival]]);
    const order = [...terms.keys()].filter((termIndex) => terms[termIndex].part !== 'bias');
    order.sort((a, b) => Math.abs(values[b][0]) - Math.abs(values[a][0]));
    const maximum = Math.max(1e-9, ...values.flat().map(Math.abs));
    const sum = (termIndices) => [0, 1].map((column) => termIndices.reduce((all, term) => all + values[term][column], 0));
    const lines = order.slice(0, MAX_PART_ROWS).map((position) => partLine(partName(terms[position]), values[position], maximum));
    const others = order.slice(MAX_PART_ROWS);
    if (others.length) lines.push(partLine(t('why_more', { count: others.length }), sum(others), maximum));
    const biases = [...terms.keys()].filter((index) => terms[index].part === 'bias');
    lines.push(partLine(t('word_biases'), sum(biases), maximum));
    const heads = [t('word_part'), words[0].trim(), t('word_less', { word: words[this.rival].trim() })];
    const head = make('thead', {}, make('tr', {}, ...heads.map((text) => make('th', { scope: 'col' }, make('bdi', {}, text)))));
    const total = partLine('Σ', [logits[0], logits[0] - logits[this.rival]], null);
    replace(this.parts, head, make('tbody', {}, ...lines), make('tfoot', {}, total));
  }
}

function partName({ part, kind, layer, head }) {
  if (part === 'head') return `${t(`kind_${kind}_short`)} · ${t('one_head', { layer: layer + 1, head: head + 1 })}`;
  return part === 'feed_forward' ? t('word_network', { layer: layer + 1 }) : t(`word_${part}`);
}

function partLine(name, values, maximum) {
  const cells = values.map((value) => {
    const bar = maximum && make('i', { class: 'signed' }, make('i', { class: value < 0 ? 'less' : '', style: barStyle(value / maximum) }));
    return make('td', { class: 'numeric' }, bar, make('span', {}, signed(value, 3)));
  });
  return make('tr', {}, make('th', { scope: 'row' }, name), ...cells);
}

const barStyle = (share) => `${share < 0 ? 'right' : 'left'}:50%;width:${50 * Math.min(1, Math.abs(share))}%`;
