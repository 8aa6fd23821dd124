// Each key's contribution to the residual stream through its head, and its effect on the logit of the target token.

import { make, fillElements, replace } from '../core/dom.js';
import { formatSigned, signed, threeDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { colourRamp } from '../parts/legend.js';
import { tableCell, columnHeader, keyName, label, tableRow, numberCell, restName, splitKeys } from './table-rows.js';
import { colourLimit, vectorStrip } from './vector.js';

const [WRITTEN, TOTAL] = [18, 22]; // pixels
const HALF = 44; // maximum length of a bar in percent of its cell; leaves space for the number

export class StreamTable {
  constructor(choose, open) {
    this.choose = choose;
    this.open = open;
    this.title = make('h3', {});
    this.description = make('p', { class: 'says' });
    this.table = make('table', { class: 'stream', role: 'table' });
    this.legend = make('p', { class: 'legend' });
    this.lifted = make('p', { class: 'lifted' });
    this.direct = make('p', { class: 'quiet' });
    this.element = make('section', {}, this.title, this.description, this.table, this.legend, this.lifted, this.direct);
  }

  /** `word()` creates the element of the target token; unused for the encoder. */
  draw(answer, to, keys, word) {
    const { moved, width } = answer;
    const { own, rest } = splitKeys(answer.own, keys.length);
    const vectors = own.map((_, number) => answer.written.subarray(number * width, (number + 1) * width));
    const limit = colourLimit([...vectors, answer.total], 0.7);
    const reach = moved && Math.max(0.01, ...moved.map(Math.abs), Math.abs(answer.moved_by_all));
    const strip = (numbers, height) =>
      tableCell(
        'strip',
        vectorStrip(numbers, { most: limit, height, describe: (dimension) => `${dimension}: ${formatSigned(numbers[dimension])}` }),
      );
    const by = (value) => (moved ? [numberCell(by3(value)), shareBar(value / reach)] : []);
    const lines = own.map((key, position) => {
      const name = keyName(keys[key], key, key === to, this.choose);
      return tableRow(key === to ? 'chosen' : '', name, strip(vectors[position], WRITTEN), ...by(moved?.[key]));
    });
    if (rest.length) {
      const restEffect = moved ? rest.reduce((all, index) => all + moved[index], 0) : null;
      lines.push(tableRow('rest', restName(rest.length, this.open), strip(answer.rest, WRITTEN), ...by(restEffect)));
    }
    const effectHeaders = moved ? [columnHeader('', word(), t('why_moved_by')), tableCell('bar')] : [];
    const heads = [
      columnHeader('', t('why_key')),
      columnHeader('strip', 'w · V · O', t('why_written', { count: width })),
      ...effectHeaders,
    ];
    const total = tableRow('total', label('', 'Σ'), strip(answer.total, TOTAL), ...by(answer.moved_by_all));
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
    replace(this.legend, make('span', {}, colourRamp('difference', formatSigned(-limit, 2), `+${limit.toFixed(2)}`)));
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
  const promoted = lifted.flatMap(([label_, by], index) => [
    index ? t('list_comma') : '',
    make('b', {}, make('bdi', {}, label_.trim() || '␣')),
    ` ${signed(by, 2)}`,
  ]);
  return make('span', { class: 'numeric' }, ...promoted);
}

/** Three decimals, without a negative zero. */
const by3 = (value) => (Math.abs(value) < 0.0005 ? threeDecimals(0) : signed(value, 3));

function shareBar(share) {
  const style = `${share < 0 ? 'right' : 'left'}:50%;width:${HALF * Math.min(1, Math.abs(share))}%`;
  return tableCell('bar signed', make('i', { class: share < 0 ? 'less' : '', style }));
}
