// Row and column labels of a map.

import { make, replace } from '../core/dom.js';
import { argMax } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { getColumnClass } from '../parts/column-name.js';
import { rowName, rowText } from '../parts/row-name.js';
import { paint } from './shading.js';

const SPACE = '␣'; // label of a space token (viz/token_labels.py)
const TICK_WIDTH = 40; // pixels of a column number
const LINE_HEIGHT = 13; // pixels of a word beside dense rows
const TICK_STEP = 10; // dense axes number every tenth row and column
const AXES = { rows: 'row', columns: 'column' };

/** Style of a number above its column, right-aligned near the right edge so that it is not clipped. */
function formatTickStyle(centre, width) {
  const isBeyondEdge = centre + TICK_WIDTH / 2 > width;
  return `bottom:4px;width:${TICK_WIDTH}px;${isBeyondEdge ? `left:${width - TICK_WIDTH}px;text-align:end` : `left:${centre - TICK_WIDTH / 2}px`}`;
}

/** Style of a word above the number of its column, as wide as the columns up to the next word. */
function formatColumnWordStyle(column, cellWidth, width) {
  const centre = (column + 0.5) * cellWidth;
  const available = Math.min(TICK_STEP * cellWidth - 6, 2 * (width - centre));
  return `bottom:17px;left:${centre - available / 2}px;width:${available}px`;
}

const getTitle = (item) => (item.read ? rowText(item) : item.label === SPACE ? t('token_space') : item.full);

export class MapLabels {
  constructor(displayOptions, { shades }) {
    this.displayOptions = displayOptions;
    this.shades = shades;
    this.columns = make('div', { class: 'columns' });
    this.rows = make('div', { class: 'rows' });
    this.corner = make('div', { class: 'corner', 'aria-hidden': 'true' });
  }

  /** `sizes`: cell size, height of the column labels, and whether cells are too small for labels (`tiny`). */
  draw(view, sizes) {
    this.view = view;
    this.sizes = sizes;
    const { rows, columns } = view;
    const { cellWidth, cellHeight, columnHeight, tiny } = sizes;
    this.columns.style.height = `${columnHeight}px`;
    replace(this.corner, make('div', {}, t('looked_at_axis')), make('div', {}, t('looking_axis')));
    const tick = (number, style) => make('span', { class: 'tick', style }, number);
    const getTicks = (count) => (tiny ? Array.from({ length: Math.floor(count / TICK_STEP) }, (_, ten) => TICK_STEP * (ten + 1) - 1) : []);
    const width = columns.length * cellWidth;
    // Dense axes show only the words that have space. Tokens without a text are labelled by their number, which is a tick already.
    const word = (item, index, style) =>
      item.label === String(index + 1) ? [] : [make('span', { class: 'tick tick-word', style, 'aria-hidden': 'true' }, rowText(item))];
    const stride = Math.ceil(LINE_HEIGHT / cellHeight);
    const wordRows = tiny ? [...rows.keys()].filter((row) => row % stride === (TICK_STEP - 1) % stride) : [];
    replace(
      this.columns,
      ...columns.map((item, column) => this.label(item, { column }, `width:${cellWidth}px`)),
      ...getTicks(columns.length).map((position) => tick(position + 1, formatTickStyle((position + 0.5) * cellWidth, width))),
      ...getTicks(columns.length).flatMap((position) =>
        word(columns[position], position, formatColumnWordStyle(position, cellWidth, width)),
      ),
    );
    replace(
      this.rows,
      ...rows.map((item, row) => this.label(item, { row }, `height:${cellHeight}px`)),
      ...getTicks(rows.length).map((index) => tick(index + 1, `right:8px;top:${(index + 0.5) * cellHeight - 6}px`)),
      ...wordRows.flatMap((index) => word(rows[index], index, `right:30px;top:${(index + 0.5) * cellHeight - 6}px`)),
    );
  }

  label(item, data, style) {
    const { tiny } = this.sizes;
    const isRow = data.column == null;
    const text = isRow ? rowName(item) : make('span', { class: item.special ? 'special' : item.unknown ? 'unknown' : '' }, item.label);
    const columnClass = isRow ? '' : ` ${getColumnClass(item.label)}`;
    // A single label above many columns extends to the side with more space.
    const end = tiny && data.column > this.view.columns.length / 2 ? ' backwards' : '';
    return make('div', { class: `label${columnClass}${end}`, data, style, title: getTitle(item) }, text);
  }

  /** `highlight`: highlighted rows and columns; `levels`: shading levels from 0 to 1 by axis. */
  highlight(highlight, levels) {
    const { tiny } = this.sizes;
    for (const [axis, name] of Object.entries(AXES)) {
      const focus = highlight[axis] ?? (levels[axis] ? [argMax(levels[axis])] : []);
      const isMarked = axis === 'rows' || !highlight.rows; // if both are highlighted, only the row is marked as selected
      for (const label of this[axis].querySelectorAll('.label')) {
        const index = Number(label.dataset[name]);
        paint(label, this.shades ? levels[axis]?.[index] : null, this.displayOptions.palette);
        label.classList.toggle('chosen', Boolean(isMarked && highlight[axis]?.includes(index)));
        label.classList.toggle('dim', tiny && !focus.includes(index));
      }
    }
  }
}
