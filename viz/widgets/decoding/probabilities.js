// Probabilities of the tokens of the translation: a bar chart with the alternatives of each token, and a table.

import { make, replace, tableHead } from '../core/dom.js';
import { state } from '../core/state.js';
import { fourDecimals, threeDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { section } from './section.js';

const PLOTLY_CONFIG = { displayModeBar: false, responsive: false };
const MAX_WIDTH = 1280; // pixels of the chart, with the alternatives
const MIN_BAR_WIDTH = 200; // pixels of the bar area
const MARGIN_WITHOUT_ALTERNATIVES = 16; // pixels to the right of the bars
const MAX_ALTERNATIVES_IN_TABLE = 3; // per token
const DIMMED_OPACITY = 0.45; // opacity of all other bars while a token is highlighted

export class Probabilities {
  /** Callbacks: `choose(index)` for a clicked token, `onHover(index)` for the hovered token or null. */
  constructor({ choose, onHover }) {
    this.choose = choose;
    this.onHover = onHover;
    this.selectedIndex = null; // of a token
    this.highlightedIndex = null;
    this.chart = make('div', { class: 'chart', 'aria-hidden': 'true' });
    this.table = make('table', {});
    this.summary = make('summary', {});
    this.region = make('div', { class: 'scrolls', tabindex: 0, role: 'region' }, this.table);
    this.section = section('sure', this.chart, make('details', {}, this.summary, this.region));
    new ResizeObserver(() => this.onResize()).observe(this.chart);
  }

  /** Draws the figure of the page's translation, and the table of its tokens. */
  draw(plotly, figure) {
    this.plotly = plotly;
    this.figure = figure;
    this.section.title.textContent = t('decoding_probabilities');
    this.summary.textContent = t('decoding_numbers');
    this.region.setAttribute('aria-label', t('decoding_probabilities'));
    const titles = ['decoding_token', 'decoding_probability', 'decoding_others'].map((phrase) => t(phrase));
    replace(this.table, tableHead(titles), make('tbody', {}, ...state.translation.target.map(makeTokenRow)));
    this.fit();
  }

  /** Fits the chart to the width, with as many alternatives per token as fit next to the bars. */
  fit() {
    if (!this.figure) return;
    const { data, layout } = this.figure;
    const width = Math.min(this.chart.clientWidth, MAX_WIDTH);
    const isAlternative = ({ x, xref }) => xref === 'paper' && x === 1;
    const columnShifts = [...new Set(layout.annotations.filter(isAlternative).map(({ xshift }) => xshift))].sort((a, b) => a - b);
    const columnWidth = columnShifts.length > 1 ? columnShifts[1] - columnShifts[0] : 0;
    const visibleColumns = columnShifts.filter((left) => left + columnWidth <= width - layout.margin.l - MIN_BAR_WIDTH);
    this.section.caption.textContent = t(visibleColumns.length ? 'decoding_probabilities_says' : 'decoding_probabilities_tight');
    const annotations = layout.annotations.filter((annotation) => !isAlternative(annotation) || visibleColumns.includes(annotation.xshift));
    const margin = { ...layout.margin, r: visibleColumns.length ? visibleColumns.at(-1) + columnWidth : MARGIN_WITHOUT_ALTERNATIVES };
    this.plotly.react(this.chart, data, { ...layout, width, annotations, margin }, PLOTLY_CONFIG);
    this.addListeners();
    this.paint();
  }

  addListeners() {
    if (this.hasListeners) return;
    this.hasListeners = true;
    this.chart.on('plotly_hover', ({ points: [bar] }) => this.onHover(bar.y));
    this.chart.on('plotly_unhover', () => this.onHover(null));
    this.chart.on('plotly_click', ({ points: [bar] }) => this.choose(bar.y));
    const rowIndex = (event) => event.target.closest('tbody tr')?.sectionRowIndex ?? null;
    this.table.addEventListener('pointerover', (event) => this.onHover(rowIndex(event)));
    this.table.addEventListener('pointerleave', () => this.onHover(null));
    this.table.addEventListener('click', (event) => rowIndex(event) !== null && this.choose(rowIndex(event)));
  }

  /** Selects the token of the node that is selected in the tree; null if it is not part of the translation. */
  select(index) {
    this.selectedIndex = index;
    this.paint();
  }

  /** Highlights the token that is hovered here or in the tree. */
  highlight(index) {
    if (index === this.highlightedIndex) return;
    this.highlightedIndex = index;
    this.paint();
  }

  /** Dims all bars but that of the highlighted or selected token. */
  paint() {
    if (!this.figure) return;
    const index = this.highlightedIndex ?? this.selectedIndex;
    const opacity = state.translation.target.map((_, row) => (index === null || row === index ? 1 : DIMMED_OPACITY));
    this.plotly.restyle(this.chart, { 'marker.opacity': [opacity] }, [0]);
    for (const [row, element] of [...this.table.querySelectorAll('tbody tr')].entries()) element.classList.toggle('lit', row === index);
  }

  onResize() {
    const width = this.chart.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    this.fit();
  }
}

function makeTokenRow(token) {
  const alternatives = (token.alternatives ?? []).filter(([, id]) => id !== token.id).slice(0, MAX_ALTERNATIVES_IN_TABLE);
  const alternativeTexts = alternatives.map(([text, , probability]) =>
    make('span', {}, make('bdi', {}, text.trim() || '␣'), ` ${threeDecimals(probability)}`),
  );
  const name = make('th', { scope: 'row' }, make('bdi', {}, token.full ?? token.label));
  return make(
    'tr',
    {},
    name,
    make('td', { class: 'numeric' }, fourDecimals(token.probability)),
    make('td', { class: 'numeric others' }, ...alternativeTexts),
  );
}
