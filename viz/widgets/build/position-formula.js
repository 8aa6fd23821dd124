// The formula of the positional encoding, worked out for one word, and the reason why its base differs from the paper.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { formatNumber } from '../parts/sums.js';

const PAPER_BASE = 10_000;
const WIDTH = 4; // numbers of a word's vector

/** The numbers of a position as terms, for example "sin(1 ÷ 10) = 0.10". */
export function positionTerms(position, base) {
  return [0, 2].flatMap((exponent) =>
    ['sin', 'cos'].map((name) => {
      const divisor = base ** (exponent / WIDTH);
      return `${name}(${position} ÷ ${divisor}) = ${formatNumber(Math[name](position / divisor))}`;
    }),
  );
}

export function positionFormula(data) {
  const { wavelength_base: base } = data.answer;
  const last = data.readWords.length - 1;
  const power = () => make('sup', {}, `2i/${WIDTH}`);
  const formula = ['sin', 'cos'].flatMap((name, index) => [
    index ? ', ' : '',
    'P',
    make('sub', {}, index ? '2i+1' : '2i'),
    ` = ${name}(${t('build_place')} ÷ ${base}`,
    power(),
    ')',
  ]);
  const second = Math.sqrt(PAPER_BASE); // divisor of the second pair of numbers
  return make(
    'div',
    { class: 'place-formula' },
    make('p', {}, ...formula),
    make('p', {}, t('build_place_worked', { word: data.word, place: data.row, terms: positionTerms(data.row, base).join(', ') })),
    make('p', {}, t('build_place_why', { base, paper: PAPER_BASE, second, last, largest: formatNumber(Math.sin(last / second)) })),
  );
}
