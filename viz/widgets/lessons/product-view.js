// The products x·W of a step, number by number: the row, the column of the matrix, their products, and the sum.

import { make, updateScrollable } from '../core/dom.js';
import { argMax, formatSigned } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { formula } from './formula.js';
import { heatmap } from './heatmap.js';
import { formatNumber } from './step-numbers.js';
import { maxAbs } from './tensor-cache.js';

const LABELS = { wide: 152, narrow: 116 }; // pixels of a strip's name
const NARROW = 480; // pixels of a figure
const ROUNDING = 2e-3; // maximum relative difference between the sum and the figure by rounding
const MAX_TERMS = { wide: 2, narrow: 1 }; // products of a sum that are written out

/** The section with the products of a step, or null if it has none. @param {import('./step-scene.js').StepScene} scene */
export function drawProducts(scene, width) {
  const products = scene.visibleProducts();
  if (!products.length) return null;
  const title = make('h3', {}, t('lesson_products'));
  const note = make('p', { class: 'quiet' }, t('lesson_products_note'));
  return make('section', { class: 'lesson-products' }, title, note, ...products.map((product) => drawProduct(scene, product, width)));
}

function drawProduct(scene, product, width) {
  const isNarrow = width < NARROW;
  const parts = scene.product(product);
  const { row, weights, terms, column } = parts;
  const matrixName = t(`lesson_product_${product.name}`);
  const names = [
    rowLabel(scene, product),
    product.column === 'written'
      ? t('lesson_product_vector', { token: scene.rowItems[scene.row].label })
      : t('lesson_product_column', { matrix: matrixName, column }),
    t('lesson_product_terms'),
  ];
  const label = isNarrow ? LABELS.narrow : LABELS.wide;
  const strips = [row, weights, terms].map((numbers, index) => {
    const matrix = { rows: 1, columns: numbers.length, numbers };
    const rows = { names: [names[index]], indices: [0] };
    return heatmap({ matrix, width, name: names[index], rows, most: maxAbs(numbers) || 1, height: 18, label });
  });
  const readout = make('p', { class: 'numeric readout' });
  const marker = make('i', { class: 'marker' });
  const plane = make(
    'div',
    { class: 'strips', tabindex: 0, role: 'slider', 'aria-valuemin': 0, 'aria-valuemax': row.length - 1 },
    ...strips,
    marker,
  );
  plane.setAttribute('aria-label', t('lesson_product_index', { matrix: matrixName }));
  let position = argMax(terms.map(Math.abs));
  const choose = (index) => {
    position = Math.max(0, Math.min(row.length - 1, index));
    const values = [row, weights, terms].map((numbers) => formatNumber(numbers[position]));
    readout.textContent = `i = ${position}:  ${values[0]} · ${bracketed(weights[position])} = ${values[2]}`;
    plane.setAttribute('aria-valuenow', String(position));
    plane.setAttribute('aria-valuetext', readout.textContent);
    marker.style.left = `calc(${label}px + (100% - ${label}px) * ${(position + 0.5) / row.length})`;
  };
  plane.addEventListener('pointermove', (event) => {
    const { left, width: pixels } = strips[0].querySelector('canvas').getBoundingClientRect();
    choose(Math.floor(((event.clientX - left) / pixels) * row.length));
  });
  plane.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation(); // the arrows also change the step
    choose(position + step);
  });
  choose(position);
  const sum = sumFormula(product, parts, isNarrow ? MAX_TERMS.narrow : MAX_TERMS.wide);
  // On a phone, the result is on a separate line, because the end of the sum is scrolled out of view.
  const lines = isNarrow ? sum.split(/ (?== [^=]*$)/) : [sum];
  const sumLines = lines.map((line) => make('div', { class: 'filled numeric' }, formula(line)));
  for (const line of sumLines) updateScrollable(line, 'Width');
  return make('div', { class: 'lesson-product' }, plane, readout, ...sumLines, outputNote(product, parts));
}

/** Name of the multiplied row: the neurons, or the vector x of the token that is read. */
function rowLabel(scene, { row }) {
  if (row === 'feed_forward.hidden') return t('lesson_tensor_hidden');
  const item = scene.rowItems[scene.row];
  return t('lesson_product_row', { token: item.read?.label ?? item.label });
}

const bracketed = (number) => (number < 0 ? `(${formatNumber(number)})` : formatNumber(number));

/** The sum with its first terms, its bias and its result, as TeX. */
export function sumFormula({ name }, { row, weights, bias, index: component, total, terms }, maxTerms = MAX_TERMS.wide) {
  const number = (value) => (value < 0 ? `\\text{(}${formatNumber(value, 3)}\\text{)}` : formatNumber(value, 3));
  const products = Array.from(
    { length: Math.min(maxTerms, row.length) },
    (_, index) => `${number(row[index])} \\cdot ${number(weights[index])}`,
  );
  const letter = /^[qkv]$/.test(name) ? name : name === 'e' ? '\\text{logit}' : name === 'o' ? 'a' : 'h';
  const ellipsis = terms.length > maxTerms ? ' + \\ldots' : '';
  const biasTerm = bias === null ? '' : ` + ${number(bias)}`;
  return `${name === '2' ? 'y' : letter}_{${component}} = ${products.join(' + ')}${ellipsis}${biasTerm} = ${formatNumber(total)}`;
}

/** Note on the activation or the rotation by position that is applied to the sum before the figure shows it; null if neither is. */
function outputNote({ output }, { total, cell }) {
  if (cell === null || Math.abs(total - cell) <= ROUNDING * Math.max(1, Math.abs(total))) return null;
  const key = output === 'feed_forward.hidden' ? 'lesson_product_activated' : 'lesson_product_turned';
  return make('p', { class: 'quiet' }, t(key, { value: formatSigned(cell) }));
}
