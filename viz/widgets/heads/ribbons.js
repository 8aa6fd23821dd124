// Ribbons on the desk: the displayed head's attention, as curves between the two sentences or as arcs along one of them.

import { signedLevel } from '../core/effect-scale.js';
import { replace, svg } from '../core/dom.js';
import { desk, listDeskWords } from '../parts/desk.js';
import { mergeHighlight, getHighlight } from '../headview/highlights.js';

const MIN_WEIGHT = 0.15; // smaller weights get no ribbon
const MIN_LEVEL = 0.27; // minimum level of an effect's ribbon: 0.03 nats
const MAX_RIBBONS = 160; // more ribbons overlap to a grey area
const ARC_HEIGHT = 0.8; // height of an arc, relative to the height of the area
const MAX_ARC_DISTANCE = 320; // pixels; arcs between words further apart are not higher

/** @typedef {{ left: number, top: number, bottom: number, width: number }} Box relative to the area of the ribbons */

/** The size of the area and the boxes of the desk's words, by token key. */
function measureWords() {
  const area = desk().ribbons.getBoundingClientRect();
  const words = new Map();
  for (const word of listDeskWords()) {
    const box = word.getClientRects()[0];
    if (!box) continue;
    const relative = { left: box.left - area.left, top: box.top - area.top, bottom: box.bottom - area.top, width: box.width };
    for (const key of word.dataset.keys?.split(' ') ?? []) words.set(key, relative);
  }
  return { height: area.height, words };
}

/** Draws the ribbons of a view into the desk. */
export class Ribbons {
  constructor(view) {
    this.view = view;
    this.picture = svg('svg', {});
    replace(desk().ribbons, this.picture);
    /** @type {{ height: number, words: Map<string, Box> } | null} */
    this.measurements = null;
    new ResizeObserver(() => this.draw()).observe(desk().ribbons);
  }

  /** Measures the words, then draws. */
  draw() {
    this.measurements = null;
    this.redraw();
  }

  /** Draws at the last measured positions. A change of head does not move words, and measuring is slow. */
  redraw() {
    const { view: visible, source, store } = this.view;
    if (!visible) return replace(/** @type {any} */ (this.picture));
    this.measurements ??= measureWords();
    const { measurements: area } = this;
    if (!area.height) return replace(/** @type {any} */ (this.picture));
    const getBox = (axis, position) =>
      source
        .keys(visible.kind, axis, visible[axis][position])
        .map((key) => area.words.get(key))
        .find(Boolean);
    const highlight = mergeHighlight(getHighlight(store.state));
    const [rows, columns] = ['rows', 'columns'].map((axis) => visible[axis].map((_, index) => getBox(axis, index)));
    // If a sentence has several lines, its ribbons cross its words, so only the highlighted ones are drawn.
    const hasSeveralLines = [rows, columns].some((boxes) => boxes.some((box) => box && Math.abs(box.top - boxes.find(Boolean).top) > 4));
    const paths = this.cells(visible, highlight)
      .filter(({ isHighlighted }) => isHighlighted || !hasSeveralLines)
      .map(({ row, column, ...style }) => this.path(visible.kind, [rows[row], columns[column]], area, style));
    replace(/** @type {any} */ (this.picture), ...paths.filter(Boolean));
    return undefined;
  }

  /** The cells with a ribbon, the highlighted ones last, so that they are drawn on top. */
  cells({ weights, effects = null, columns, rows }, highlight) {
    const hasHighlight = Boolean(highlight.rows || highlight.columns);
    const cells = [];
    for (let cell = 0; cell < weights.length; cell++) {
      const weight = effects ? Math.abs(signedLevel(effects[cell])) : weights[cell];
      if (!(weight >= (effects ? MIN_LEVEL : MIN_WEIGHT))) continue;
      const [row, column] = [Math.floor(cell / columns.length), cell % columns.length];
      const isHighlighted =
        hasHighlight && (!highlight.rows || highlight.rows.includes(row)) && (!highlight.columns || highlight.columns.includes(column));
      cells.push({ row, column, weight, isHighlighted, opposes: Boolean(effects) && effects[cell] < 0 });
    }
    cells.sort((a, b) => Number(a.isHighlighted) - Number(b.isHighlighted) || a.weight - b.weight);
    return cells.slice(-Math.min(MAX_RIBBONS, rows.length * columns.length));
  }

  path(kind, [row, column], area, { weight, isHighlighted, opposes }) {
    if (!row || !column) return null;
    const centre = ({ left, width }) => left + width / 2;
    const [start, end] = [centre(column), centre(row)];
    const attributes = {
      'stroke-width': String(isHighlighted ? 2 + 5 * weight : 0.5 + 2.5 * weight),
      class: [isHighlighted && 'marked', opposes && 'opposes'].filter(Boolean).join(' '),
    };
    const opacity = String(isHighlighted ? 1 : 0.12 + 0.25 * weight);
    if (kind !== 'cross') {
      if (row === column || start === end) return null;
      const [edge, height] = kind === 'encoder' ? [0, ARC_HEIGHT * area.height] : [area.height, -ARC_HEIGHT * area.height];
      const relativeDistance = Math.min(1, Math.abs(start - end) / MAX_ARC_DISTANCE);
      const d = `M${start} ${edge}C${start} ${edge + height * relativeDistance} ${end} ${edge + height * relativeDistance} ${end} ${edge}`;
      return svg('path', { d, 'stroke-opacity': opacity, ...attributes });
    }
    const [top, bottom] = [Math.min(0, column.bottom + 3), Math.max(area.height, row.top - 2)];
    const middle = (top + bottom) / 2;
    return svg('path', {
      d: `M${start} ${top}C${start} ${middle} ${end} ${middle} ${end} ${bottom}`,
      'stroke-opacity': opacity,
      ...attributes,
    });
  }
}
