// Each key's contribution to the residual stream through its head, and its effect on the logit of the target token.

import { make, fillElements, replace } from '../core/dom.js';
import { formatSigned, signed, threeDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { makeColourRamp } from '../parts/legend.js';
import { tableCell, columnHeader, collapsedHeader, keyHeader, rowHeader, tableRow, numberCell, splitKeys } from './table-rows.js';
import { colourLimit, vectorStrip } from './vector.js';

const [KEY_HEIGHT, TOTAL_HEIGHT] = [18, 22]; // pixels: height of the vectors
const COLOUR_FRACTION = 0.7; // of the largest absolute value, drawn in the strongest colour
const MIN_MAX_EFFECT = 0.01; // logits; if all effects are smaller, their bars are short
const MAX_BAR_LENGTH = 44; // percent of a cell, on either side of its middle; leaves space for the number

export class StreamTable {
  /** `choose(index)` selects a key; `expand()` lists every key. */
  constructor(choose, expand) {
    this.choose = choose;
    this.expand = expand;
    this.title = make('h3', {});
    this.description = make('p', { class: 'says' });
    this.table = make('table', { class: 'stream', role: 'table' });
    this.legend = make('p', { class: 'legend' });
    this.promotedTokens = make('p', { class: 'lifted' });
    this.directEffectNote = make('p', { class: 'quiet' });
    this.element = make('section', {}, this.title, this.description, this.table, this.legend, this.promotedTokens, this.directEffectNote);
  }

  /**
   * Draws the server's answer. `moved` of it: effects on the target token's logit by key; null in the encoder.
   * `makeTargetName()` creates the element of the target token.
   */
  draw(answer, selectedKey, keys, makeTargetName) {
    const { moved: effects, width } = answer;
    const { listed, collapsed } = splitKeys(answer.own, keys.length);
    const vectors = listed.map((_, index) => answer.written.subarray(index * width, (index + 1) * width));
    const limit = colourLimit([...vectors, answer.total], COLOUR_FRACTION);
    const maxEffect = effects && Math.max(MIN_MAX_EFFECT, ...effects.map(Math.abs), Math.abs(answer.moved_by_all));
    const stripCell = (vector, height) => {
      const describe = (dimension) => `${dimension}: ${formatSigned(vector[dimension])}`;
      return tableCell('strip', vectorStrip(vector, { limit, height, describe }));
    };
    const effectCells = (effect) => (effects ? [numberCell(formatEffect(effect)), barCell(effect / maxEffect)] : []);
    const rows = listed.map((key, index) => {
      const header = keyHeader(keys[key], key, key === selectedKey, this.choose);
      return tableRow(key === selectedKey ? 'chosen' : '', header, stripCell(vectors[index], KEY_HEIGHT), ...effectCells(effects?.[key]));
    });
    if (collapsed.length) {
      const collapsedEffect = effects ? collapsed.reduce((sum, key) => sum + effects[key], 0) : null;
      const header = collapsedHeader(collapsed.length, this.expand);
      rows.push(tableRow('rest', header, stripCell(answer.rest, KEY_HEIGHT), ...effectCells(collapsedEffect)));
    }
    const effectHeaders = effects ? [columnHeader('', makeTargetName(), t('why_moved_by')), tableCell('bar')] : [];
    const columnHeaders = [
      columnHeader('', t('why_key')),
      columnHeader('strip', 'w · V · O', t('why_written', { count: width })),
      ...effectHeaders,
    ];
    const totalRow = tableRow('total', rowHeader('', 'Σ'), stripCell(answer.total, TOTAL_HEIGHT), ...effectCells(answer.moved_by_all));
    const hadFocus = this.table.contains(document.activeElement);
    replace(
      this.table,
      make('thead', { role: 'rowgroup' }, tableRow('', ...columnHeaders)),
      make('tbody', { role: 'rowgroup' }, ...rows),
      make('tfoot', { role: 'rowgroup' }, totalRow),
    );
    if (hadFocus) this.table.querySelector('[aria-pressed=true]')?.focus({ preventScroll: true });
    this.title.textContent = t('why_stream');
    this.table.setAttribute('aria-label', t('why_stream'));
    const description = effects ? fillElements(t('why_stream_says'), { word: makeTargetName() }) : [t('why_stream_encoder')];
    replace(this.description, ...description);
    replace(this.legend, make('span', {}, makeColourRamp('difference', formatSigned(-limit, 2), `+${limit.toFixed(2)}`)));
    const promotedTokens = effects
      ? fillElements(t('why_lifted', { count: answer.vocabulary.toLocaleString('en') }), { tokens: tokenList(answer.lifted) })
      : [];
    replace(this.promotedTokens, ...promotedTokens);
    this.directEffectNote.textContent = effects ? t('why_direct') : '';
  }
}

/** `tokenEffects`: [token, effect on its logit] pairs. */
function tokenList(tokenEffects) {
  const nodes = tokenEffects.flatMap(([token, effect], index) => [
    index ? t('list_comma') : '',
    make('b', {}, make('bdi', {}, token.trim() || '␣')),
    ` ${signed(effect, 2)}`,
  ]);
  return make('span', { class: 'numeric' }, ...nodes);
}

/** Three decimals, without a negative zero. */
const formatEffect = (effect) => (Math.abs(effect) < 0.0005 ? threeDecimals(0) : signed(effect, 3));

/** A bar on either side of the middle. `fraction`: signed, of the longest bar. */
function barCell(fraction) {
  const style = `${fraction < 0 ? 'right' : 'left'}:50%;width:${MAX_BAR_LENGTH * Math.min(1, Math.abs(fraction))}%`;
  return tableCell('bar signed', make('i', { class: fraction < 0 ? 'less' : '', style }));
}
