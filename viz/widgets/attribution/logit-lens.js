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
    this.rivalIndex = 1; // index in `words` of the word that the contributions are compared with
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

  draw(translation, tokenIndex) {
    this.drawLens(translation, tokenIndex);
    this.drawParts();
  }

  /** Draws a table of predictions: a row per layer, from the embedding upwards, and a column per target token. */
  drawLens(translation, tokenIndex) {
    const { layers } = this.result;
    this.lensTitle.textContent = t('word_lens');
    this.lensDescription.textContent = t('word_lens_says');
    this.region.setAttribute('aria-label', t('word_lens'));
    const headerCells = translation.target.map(({ label }, position) =>
      make('th', { scope: 'col', class: position === tokenIndex ? 'chosen' : '' }, make('bdi', {}, label)),
    );
    const rows = layers.map((predictions, layer) => {
      const cells = predictions.map(({ says, chance, own, rank }, position) => {
        const colour = scaleColour(state.palette, chance);
        const title = t('word_lens_cell', { chance: twoDecimals(chance), own: twoDecimals(own), rank: rank + 1 });
        const attributes = { class: [position === tokenIndex && 'chosen', rank === 0 && 'right'].filter(Boolean).join(' '), title };
        return make(
          'td',
          { ...attributes, style: `background:${cssColour(colour)};color:${textColourOn(colour)}` },
          make('bdi', {}, says.trim()),
        );
      });
      const name = layer ? t('word_layer', { layer }) : t('word_embedding');
      return make('tr', {}, make('th', { scope: 'row' }, name), ...cells);
    });
    replace(this.lens, make('thead', {}, make('tr', {}, make('th', {}), ...headerCells)), make('tbody', {}, ...rows));
  }

  /** Draws a table of the terms of the word's logit, largest first, with each term's difference to the rival's. */
  drawParts() {
    const { words, logits, terms } = this.result; // the word comes first, its rivals follow
    const name = (word) => make('b', {}, make('bdi', {}, word.trim()));
    this.partsTitle.textContent = t('word_parts');
    replace(this.partsDescription, ...fillElements(t('word_parts_says', { logit: twoDecimals(logits[0]) }), { word: name(words[0]) }));
    const buttons = words.slice(1).map((word, index) => {
      const rivalIndex = index + 1;
      const onclick = () => {
        this.rivalIndex = rivalIndex;
        this.drawParts();
        this.rivals.querySelector('[aria-pressed=true]').focus({ preventScroll: true });
      };
      return make(
        'button',
        { type: 'button', 'aria-pressed': String(rivalIndex === this.rivalIndex), onclick },
        make('bdi', {}, word.trim()),
      );
    });
    this.rivals.setAttribute('aria-label', t('word_rivals'));
    replace(this.rivals, make('span', { class: 'quiet' }, t('word_against')), ...buttons);
    const termValues = terms.map(({ effects }) => [effects[0], effects[0] - effects[this.rivalIndex]]);
    const termIndices = [...terms.keys()].filter((index) => terms[index].part !== 'bias');
    termIndices.sort((a, b) => Math.abs(termValues[b][0]) - Math.abs(termValues[a][0]));
    const maxValue = Math.max(1e-9, ...termValues.flat().map(Math.abs));
    const sum = (indices) => [0, 1].map((column) => indices.reduce((total, index) => total + termValues[index][column], 0));
    const rows = termIndices.slice(0, MAX_PART_ROWS).map((index) => partRow(partName(terms[index]), termValues[index], maxValue));
    const others = termIndices.slice(MAX_PART_ROWS);
    if (others.length) rows.push(partRow(t('why_more', { count: others.length }), sum(others), maxValue));
    const biases = [...terms.keys()].filter((index) => terms[index].part === 'bias');
    rows.push(partRow(t('word_biases'), sum(biases), maxValue));
    const headers = [t('word_part'), words[0].trim(), t('word_less', { word: words[this.rivalIndex].trim() })];
    const header = make('thead', {}, make('tr', {}, ...headers.map((text) => make('th', { scope: 'col' }, make('bdi', {}, text)))));
    const totalRow = partRow('Σ', [logits[0], logits[0] - logits[this.rivalIndex]], null);
    replace(this.parts, header, make('tbody', {}, ...rows), make('tfoot', {}, totalRow));
  }
}

function partName({ part, kind, layer, head }) {
  if (part === 'head') return `${t(`kind_${kind}_short`)} · ${t('one_head', { layer: layer + 1, head: head + 1 })}`;
  return part === 'feed_forward' ? t('word_network', { layer: layer + 1 }) : t(`word_${part}`);
}

/** `values`: the effect on the word's logit, and the difference to the rival's; `maxValue`: null for a row without bars. */
function partRow(name, values, maxValue) {
  const cells = values.map((value) => {
    const bar =
      maxValue && make('i', { class: 'signed' }, make('i', { class: value < 0 ? 'less' : '', style: barStyle(value / maxValue) }));
    return make('td', { class: 'numeric' }, bar, make('span', {}, signed(value, 3)));
  });
  return make('tr', {}, make('th', { scope: 'row' }, name), ...cells);
}

/** CSS of a bar on either side of the middle of its cell. `fraction`: signed, of the longest bar. */
const barStyle = (fraction) => `${fraction < 0 ? 'right' : 'left'}:50%;width:${50 * Math.min(1, Math.abs(fraction))}%`;
