// Each key's contribution to the residual stream through its head, and its effect on the logit of the target token.

import { make, fillElements, replace } from '../core/dom.js';
import { formatSigned, signed, threeDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { makeColourRamp } from '../parts/legend.js';
import { tableCell, columnHeader, expandButton, keyName, rowHeader, tableRow, numberCell, splitKeys } from './table-rows.js';
import { colourLimit, vectorStrip } from './vector.js';

const [KEY_HEIGHT, TOTAL_HEIGHT] = [18, 22]; // pixels
const MAX_BAR_LENGTH = 44; // maximum length of a bar in percent of its cell; leaves space for the number

export class StreamTable {
  constructor(choose, expand) {
    this.choose = choose;
    this.expand = expand;
    this.title = make('h3', {});
    this.description = make('p', { class: 'says' });
    this.table = make('table', { class: 'stream', role: 'table' });
    this.legend = make('p', { class: 'legend' });
    this.lifted = make('p', { class: 'lifted' });
    this.direct = make('p', { class: 'quiet' });
    this.element = make('section', {}, this.title, this.description, this.table, this.legend, this.lifted, this.direct);
  }

  /** `word()` creates the element of the target token; unused for the encoder. */
  draw(answer, selectedKey, keys, word) {
    const { moved, width } = answer;
    const { listed, collapsed } = splitKeys(answer.own, keys.length);
    const vectors = listed.map((_, number) => answer.written.subarray(number * width, (number + 1) * width));
    const limit = colourLimit([...vectors, answer.total], 0.7);
    const maxEffect = moved && Math.max(0.01, ...moved.map(Math.abs), Math.abs(answer.moved_by_all));
    const strip = (numbers, height) =>
      tableCell(
        'strip',
        vectorStrip(numbers, { limit, height, describe: (dimension) => `${dimension}: ${formatSigned(numbers[dimension])}` }),
      );
    const effectCells = (value) => (moved ? [numberCell(formatEffect3(value)), shareBar(value / maxEffect)] : []);
    const lines = listed.map((key, position) => {
      const name = keyName(keys[key], key, key === selectedKey, this.choose);
      return tableRow(key === selectedKey ? 'chosen' : '', name, strip(vectors[position], KEY_HEIGHT), ...effectCells(moved?.[key]));
    });
    if (collapsed.length) {
      const collapsedEffect = moved ? collapsed.reduce((all, index) => all + moved[index], 0) : null;
      lines.push(
        tableRow('rest', expandButton(collapsed.length, this.expand), strip(answer.rest, KEY_HEIGHT), ...effectCells(collapsedEffect)),
      );
    }
    const effectHeaders = moved ? [columnHeader('', word(), t('why_moved_by')), tableCell('bar')] : [];
    const heads = [
      columnHeader('', t('why_key')),
      columnHeader('strip', 'w · V · O', t('why_written', { count: width })),
      ...effectHeaders,
    ];
    const total = tableRow('total', rowHeader('', 'Σ'), strip(answer.total, TOTAL_HEIGHT), ...effectCells(answer.moved_by_all));
    const focused = this.table.contains(document.activeElement);
    replace(
      this.table,
      make('thead', { role: 'rowgroup' }, tableRow('', ...heads)),
      make('tbody', { role: 'rowgroup' }, ...lines),
      make('tfoot', { role: 'rowgroup' }, total),
    );
    if (focused) this.table.querySelector('[aria-pressed=true]')?.focus({ preventScroll: true });
    this.title.textContent = t('why_stream');
    this.table.setAttribute('aria-label', t('why_stream'));
    replace(this.description, ...(moved ? fillElements(t('why_stream_says'), { word: word() }) : [t('why_stream_encoder')]));
    replace(this.legend, make('span', {}, makeColourRamp('difference', formatSigned(-limit, 2), `+${limit.toFixed(2)}`)));
    replace(
      this.lifted,
      ...(moved
        ? fillElements(t('why_lifted', { count: answer.vocabulary.toLocaleString('en') }), { tokens: tokenList(answer.lifted) })
        : []),
    );
    this.direct.textContent = moved ? t('why_direct') : '';
  }
}

function tokenList(lifted) {
  const promoted = lifted.flatMap(([token, effect], index) => [
    index ? t('list_comma') : '',
    make('b', {}, make('bdi', {}, token.trim() || '␣')),
    ` ${signed(effect, 2)}`,
  ]);
  return make('span', { class: 'numeric' }, ...promoted);
}

/** Three decimals, without a negative zero. */
const formatEffect3 = (value) => (Math.abs(value) < 0.0005 ? threeDecimals(0) : signed(value, 3));

function shareBar(share) {
  const style = `${share < 0 ? 'right' : 'left'}:50%;width:${MAX_BAR_LENGTH * Math.min(1, Math.abs(share))}%`;
  return tableCell('bar signed', make('i', { class: share < 0 ? 'less' : '', style }));
}
