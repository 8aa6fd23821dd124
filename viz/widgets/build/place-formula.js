// The formula of places below their numbers, worked for one word, and why its base is not that of the paper.

import { make } from '../core/dom.js';
import { t } from '../core/i18n.js';
import { formatNumber } from '../parts/sums.js';

const PAPER_BASE = 10_000;
const WIDTH = 4;

/** The numbers of a place as terms: "sin(1 ÷ 10) = 0.10". */
export function placeTerms(place, base) {
  return [0, 2].flatMap((exponent) =>
    ['sin', 'cos'].map((name) => {
      const divisor = base ** (exponent / WIDTH);
      return `${name}(${place} ÷ ${divisor}) = ${formatNumber(Math[name](place / divisor))}`;
    }),
  );
}

export function placeFormula(data) {
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
  const second = Math.sqrt(PAPER_BASE);
  return make(
    'div',
    { class: 'place-formula' },
    make('p', {}, ...formula),
    make('p', {}, t('build_place_worked', { word: data.word, place: data.row, terms: placeTerms(data.row, base).join(', ') })),
    make('p', {}, t('build_place_why', { base, paper: PAPER_BASE, second, last, largest: formatNumber(Math.sin(last / second)) })),
  );
}
