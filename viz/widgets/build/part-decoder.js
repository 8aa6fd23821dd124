// The mask, which the reader draws by clicks, and cross-attention: the sides of q, k and v, and the map of its weights.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { multiply, transpose } from './matrices.js';
import { maskMistakes, maskReason } from './mistakes.js';
import { crossWeight } from './part-cross-weight.js';
import { heatStyle, highlightCell, productScheme } from './product-scheme.js';
import { RowDrawing } from './row-drawing.js';
import { formatNumber } from '../parts/sums.js';
import { wordName } from './word-name.js';

/** The name of a decoder row: the word that it reads and the word that it writes. */
export const rowName = (read, written) => [make('i', {}, `${wordName(read)} → `), make('b', {}, wordName(written))];

export const rowText = (read, written) => `${wordName(read)} → ${wordName(written)}`;

/** Scores, of which the reader masks the later columns. The right mask reveals the weights. */
export function mask({ data, state, toggleMask }) {
  const weights = data.ofHead('decoder.shares');
  const query = data.ofHead('decoder.query');
  const scores = multiply(query, transpose(data.ofHead('decoder.key'))).map((row) => row.map((score) => score / Math.SQRT2));
  const { readWords, writtenWords } = data;
  const isMasked = (row, column) => state.masked.has(`${row},${column}`);
  const mistakes = maskMistakes(readWords.length, isMasked);
  const isRight = state.maskChecked && maskReason(mistakes)[0] === 'build_mask_right';
  const cell = (row, column) => {
    const masked = isMasked(row, column);
    const isWrong = state.maskChecked && masked !== column > row;
    const hidden = isRight ? '0' : '−∞'; // a masked score is −∞, its weight is 0
    const text = masked ? hidden : formatNumber(isRight ? weights[row][column] : scores[row][column], isRight ? 2 : 1);
    return make(
      'button',
      {
        type: 'button',
        class: `cell mask-cell ${masked ? 'masked' : ''} ${isWrong ? 'wrong' : ''}`,
        'aria-pressed': String(masked),
        'aria-label': `${rowText(readWords[row], writtenWords[row])}, ${wordName(readWords[column])}`,
        data: { mask: `${row},${column}` },
        style: isRight && !masked ? heatStyle(weights[row][column]) : '',
        onclick: () => toggleMask(row, column),
      },
      text,
    );
  };
  const element = make(
    'div',
    { class: 'product', role: 'group', style: `grid-template-columns: max-content repeat(${readWords.length}, var(--cell))` },
    make('span', {}),
    ...readWords.map((word) => make('span', { class: 'column-word' }, wordName(word))),
    ...readWords.flatMap((word, row) => [
      make('span', { class: 'row-word' }, ...rowName(word, writtenWords[row])),
      ...readWords.map((_, column) => cell(row, column)),
    ]),
  );
  return { element, mistakes, isDone: isRight };
}

const SIDES = ['y', 'm'];

/** Cross-attention: the sides of q, k and v and then its map, one weight by hand, or a row to draw. */
export function cross(context) {
  const { data, state } = context;
  if (state.views.cross === 'draw') return drawing(context);
  if (state.views.cross === 'weight') return crossWeight(context);
  return sidesAreRight(state.sides) ? crossMap(data) : { element: sideButtons(context) };
}

export const sidesAreRight = ({ q, k, v }) => q === 'y' && k === 'm' && v === 'm';

function sideButtons({ data, state, chooseSide }) {
  const texts = { y: data.readWords.map(wordName).join(' '), m: data.words.join(' ') };
  const rows = ['q', 'k', 'v'].map((name) =>
    make(
      'div',
      { class: 'side-row', role: 'group', 'aria-label': name },
      make('b', {}, name),
      ...SIDES.map((side) =>
        make(
          'button',
          {
            type: 'button',
            'aria-pressed': String(state.sides[name] === side),
            data: { side: `${name}${side}` },
            onclick: () => chooseSide(name, side),
          },
          t(`build_side_${side}`),
          make('em', {}, texts[side]),
        ),
      ),
    ),
  );
  return make('div', { class: 'sides' }, ...rows);
}

function crossMap(data) {
  const weights = data.ofHead('cross.shares');
  const names = data.readWords.map((word, row) => [word, data.writtenWords[row]]);
  const element = productScheme({
    result: weights,
    rows: names.map(([read, written]) => rowName(read, written)),
    columns: data.words,
    heat: true,
    cellName: (row, column) => `${rowText(names[row][0], names[row][1])}, ${data.words[column]}`,
  });
  return {
    element,
    highlight: (cell) => highlightCell(element, cell),
    start: [data.answer.written_row, 2],
    sum: ([row, column]) => [
      t('build_cross_sum', {
        row: rowText(names[row][0], names[row][1]),
        column: data.words[column],
        number: formatNumber(weights[row][column]),
      }),
    ],
  };
}

function drawing({ data, state, redraw, refresh }) {
  const rows = data.answer.rows_to_draw;
  const row = rows[state.drawnRow % rows.length];
  if (state.bars.length !== row.source.length) state.bars = row.source.map(() => 0.3);
  const bars = new RowDrawing(row, state, { onDraw: refresh, onCompare: redraw });
  return { element: bars.element, drawing: bars };
}
