// Texts of figures: labels for Plotly, lines of a width, names of maps. `viz/token_labels.py`, `viz/figures/map_titles.py` and
// `titles.py` are the reference.

import { isEastAsian, isInRanges } from './characters.js';
import { displayWidth, graphemeClusters } from './labels.js';
import { tables } from './tables.js';

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', $: '&#36;', '%': '&#37;' };
const CLOSING = /[\p{Pe}\p{Pf}\p{Po}]/u;
const [TITLE_LINE, SENTENCE_LINE] = [30, 20]; // pixels
const CAPTION = 12; // pixels
const MAX_ROW_SUM = 1.001;

/** Escapes tags, entities, templates and TeX for Plotly, and isolates right-to-left text. */
export function plotlyText(text) {
  const escaped = text.replace(/[&<>$%]/g, (letter) => ENTITIES[letter]);
  const isRightToLeft = Array.from(text).some((letter) => isInRanges(letter.codePointAt(0), tables.labels.right_to_left));
  return isRightToLeft ? `\u2068${escaped}\u2069` : escaped;
}

/** A vertical label, one character per line. */
export const verticalText = (text) => graphemeClusters(text).map(plotlyText).join('<br>');

/** An estimate of the width in pixels at a font size. */
export const textWidth = (text, size) => displayWidth(text) * size * 0.56;

/** Pieces between which a line may break; Chinese may break between any two characters. */
function breakablePieces(text) {
  const pieces = [];
  let [piece, last] = ['', ''];
  for (const character of text) {
    if (piece && (last === ' ' || isEastAsian(last) || isEastAsian(character)) && !CLOSING.test(character)) {
      pieces.push(piece);
      piece = '';
    }
    piece += character;
    last = character;
  }
  return [...pieces, piece];
}

/** Lines of at most `columns`. */
export function wrap(text, columns) {
  const lines = [];
  let line = '';
  for (const piece of breakablePieces(text)) {
    if (line && displayWidth(line + piece.trimEnd()) > columns) {
      lines.push(line.trimEnd());
      line = '';
    }
    line += line ? piece : piece.trimStart();
  }
  return [...lines, line.trimEnd()];
}

/** A phrase with its values. */
export const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));

/** Whether a map is a maximum over heads: only then a row sums to more than one. */
export function isMaximum({ rows, columns, weights }) {
  return rows.some(
    (_, row) => weights.subarray(row * columns.length, (row + 1) * columns.length).reduce((sum, weight) => sum + weight, 0) > MAX_ROW_SUM,
  );
}

/** The name of a head, or of the heads that a map combines. Effects are summed. */
export function mapName(map, words, hasEffects = false) {
  const reduction = hasEffects ? 'sum' : isMaximum(map) ? 'maximum' : 'mean';
  const numbers = { layer: map.layer + 1, head: map.head === null ? 0 : map.head + 1 };
  if (map.layer < 0) return fill(words[map.head === null ? `${reduction}_all` : `${reduction}_layers`], numbers);
  return fill(words[map.head === null ? reduction : 'head'], numbers);
}

/** Columns of a line of text in a width of pixels. */
const countColumns = (width) => Math.max(24, Math.floor(width / 7));

/** A title with a sentence below it, wrapped to `width` pixels. */
export const title = (text, sentence, width) => ({
  text,
  subtitle: { text: wrap(sentence, countColumns(width)).join('<br>') },
  ...{ x: 0, xref: 'container', xanchor: 'left', pad: { l: 16, t: 16 }, y: 1, yref: 'container', yanchor: 'top' },
});

/** The height of a title and its subtitle in pixels, with a margin below. */
export const headerHeight = ({ subtitle }) => 16 + TITLE_LINE + SENTENCE_LINE * subtitle.text.split('<br>').length + 20;

/** A small grey annotation. */
export const caption = (text, theme, position) => ({ text, showarrow: false, font: { size: CAPTION, color: theme.ink_3 }, ...position });

/** The captions of columns and rows, in the corner between their labels. */
export function cornerCaption(words, theme) {
  const position = { xref: 'x domain', yref: 'y domain', x: 0, y: 1, xanchor: 'right', yanchor: 'bottom', xshift: -10 };
  return [caption(words.looked_at, theme, { ...position, yshift: 20 }), caption(words.looking, theme, { ...position, yshift: 4 })];
}

/** Prefixes the title with a name and adds lines to the subtitle. The figure grows by their height. */
export function addTitleLines({ layout }, name, texts) {
  const { title: header, margin } = layout;
  const lines = texts.flatMap((text) => wrap(text, countColumns(layout.width - 32))).map(plotlyText);
  const before = headerHeight(header);
  header.text = `${name} · ${header.text}`;
  header.subtitle.text = [header.subtitle.text, ...lines].join('<br>');
  const added = Math.ceil(headerHeight(header) - before);
  layout.height += added;
  margin.t += added;
}
