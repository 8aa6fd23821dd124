// The source of a head view for a translation. `sentiment/review-source.js` has the same interface.

import { KINDS, axisSide } from '../core/translation.js';
import { isShiftedHead } from '../core/default-head.js';
import { make, fillElements } from '../core/dom.js';
import { nearestHead, view } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { headName, kindText, roleText } from '../parts/head-names.js';
import { rowName } from '../parts/row-name.js';

/**
 * Interface of a source of a head view:
 * - `kinds`, `layered` (the wall has a row per layer), `merges` (can merge words and hide special tokens), `relative`
 *   (shades and bars are relative to the maximum), `mapped` (has maps, not only average rows);
 * - `wallLayout(kind, displayOptions)`: rows of heads {layer, head}; `nearestHead(kind, head)`: clamps a head to those of the kind;
 * - `view(kind, head, displayOptions)`: {kind, layer, head, rows, columns, weights, maximum, masked};
 *   `thumbnailMap(kind, head, displayOptions)`: the map that is drawn on the wall;
 * - `sentences(kind, displayOptions)`: the strips; `keys(kind, axis, item)`: keys of the tokens of an item;
 * - texts: `headName`, `kindText`, `captionElements(view, highlight)`, `listTitle(view, highlight)`, `name(view, axis, indices)`,
 *   `rowVerb(view, row)`;
 * - optional `attentionSentence(view, rows, columns)`: sentence about two words, for heads that are shifted by one row;
 * - optional `longName(view, axis, indices)`: the name, with a row's input word;
 * - optional `defaultWeights(view)`, `defaultText(view, index)`: column weights that are shown if nothing is highlighted, and their text;
 * - optional `averageName`: caption of the means on the wall; `chosenKeys()`: keys of tokens that are framed besides highlighted ones;
 * - optional `isMasked(view, axis, indices)`: whether all words at these indices of the axis are masked.
 */
export class TranslationSource {
  constructor(translation) {
    this.translation = translation;
    this.kinds = KINDS;
    this.layered = true;
    this.merges = true;
    this.relative = false;
    this.mapped = true;
  }

  /**
   * Includes means and maxima if `averages` is true, or while one of them is selected.
   * @param {{ averages?: boolean, head?: any, layer?: any, pinned?: any }} [displayOptions]
   */
  wallLayout(kind, displayOptions = {}) {
    const { averages = true, head, layer, pinned } = displayOptions;
    const hasAverages = averages || [head, layer, pinned?.head, pinned?.layer].some((value) => typeof value === 'string');
    const heads = [...Array(this.translation.heads(kind)).keys(), ...(hasAverages ? ['mean', 'max'] : [])];
    const layers = [...Array(this.translation.layers(kind)).keys(), ...(hasAverages ? ['mean'] : [])];
    return layers.map((layer) => heads.map((head) => ({ layer, head })));
  }

  nearestHead(kind, head) {
    return nearestHead(this.translation, kind, head);
  }

  /** `late`: whether each row aligns its input word. */
  view(kind, { layer, head }, displayOptions) {
    const late = isShiftedHead(this.translation, { kind, layer, head });
    return { ...view(this.translation, kind, layer, head, displayOptions), late };
  }

  /** @returns {any} */
  thumbnailMap(kind, head, displayOptions) {
    return this.view(kind, head, displayOptions);
  }

  sentences(kind, { special }) {
    const { translation } = this;
    const filterVisible = (tokens) => tokens.filter((token) => special || !token.special);
    return [
      {
        side: 'source',
        language: translation.model.source,
        tokens: filterVisible(translation.source),
        text: translation.source_text,
        named: true,
        idle: kind === 'decoder',
      },
      {
        side: 'target',
        language: translation.model.target,
        tokens: filterVisible([translation.start, ...translation.target]),
        text: translation.text,
        named: true,
        idle: kind === 'encoder',
      },
    ];
  }

  keys(kind, axis, { places }) {
    const tokens = this.translation[axis](kind);
    return places.map((position) => tokens[position].key);
  }

  /** A masked word keeps its row in the encoder, but no word attends to it. */
  isMasked(view, axis, indices) {
    const { hidden = [] } = this.translation;
    if (axisSide(view.kind, axis) !== 'source') return false;
    return indices.every((index) => view[axis][index].places.every((token) => hidden.includes(token)));
  }

  headName({ layer, head }) {
    return headName(layer, head);
  }

  kindText(kind) {
    return kindText(this.translation, kind);
  }

  captionElements({ kind, layer, head }) {
    return roleText(this.translation, kind, layer, head);
  }

  listTitle(view, { rows, columns }) {
    const token = (axis, indices) => ({ token: make('b', {}, this.longName(view, axis, indices)) });
    if (rows) return fillElements(t('list_row'), token('rows', rows));
    if (columns) return fillElements(t('list_column'), token('columns', columns));
    return [t('list_all')];
  }

  /** The text of one item or of several neighbours. */
  words(view, axis, indices) {
    const items = indices.map((index) => view[axis][index]);
    if (items.length === 1) return items[0].label;
    const { source_text: sourceText, text } = this.translation;
    const sideText = axisSide(view.kind, axis) === 'source' ? sourceText : text;
    return sideText.slice(items[0].start, items.at(-1).end) || items[0].label;
  }

  name(view, axis, indices) {
    return make('bdi', { lang: this.translation.model[axisSide(view.kind, axis)] || null }, this.words(view, axis, indices));
  }

  /** The name of an item; the name of a decoder row has its input word, too. */
  longName(view, axis, indices) {
    const [item] = indices.map((index) => view[axis][index]);
    if (axis === 'columns' || indices.length > 1 || !item.read) return this.name(view, axis, indices);
    const name = rowName(item, this.translation.model.target || null);
    name.classList.toggle('late', Boolean(view.late));
    return name;
  }

  /** Phrase key for a row: the model reads a word, writes it, or has just written it. */
  rowVerb(view, row) {
    if (view.kind === 'encoder') return 'says_reading';
    return this.late(view, [row]) ? 'says_after' : 'says_writing';
  }

  /** Whether these rows align the words of the rows above them. False for the first row. */
  late(view, rows) {
    return Math.min(...rows) > 0 && isShiftedHead(this.translation, view);
  }

  /** A sentence such as "yesterday → is looks at schläft". */
  attentionSentence(view, rows, columns) {
    const name = (axis, indices) => make('b', {}, this.longName(view, axis, indices));
    return fillElements(t('looks_at'), { query: name('rows', rows), key: name('columns', columns) });
  }
}
