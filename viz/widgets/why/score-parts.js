// Decomposes a score's difference from the mean of its row into a sum over all components that wrote into the key, or into the
// query. The part of a head expands to the words that the head attended to.

import { formatEffect, formatSigned, threeDecimals } from '../core/map-view.js';
import { callWithRetry } from '../core/boot.js';
import { fillElements, make, replace } from '../core/dom.js';
import { LatestRequest } from '../core/latest-request.js';
import { roundParts } from '../core/rounding.js';
import { t } from '../core/i18n.js';

const MAX_LISTED = 6; // parts with a separate row, unless all are shown
const MAX_NAMED = 3; // parts named in the sentence
const MIN_EXPLAINING_SHARE = 0.5; // the named parts explain the score if their share is between this and 2 minus this
const MIN_SCORE = 0.05; // smaller scores have no shares
const MIN_REMAINDER = 0.005; // smaller sums of unlisted words round to 0.00
const GROUPS = ['word', 'place', 'heads', 'networks', 'biases'];
const GROUPS_BY_WRITER = { word: 'word', position: 'place', distance: 'place', head: 'heads', network: 'networks', biases: 'biases' };

/** Sums of the parts per group, as {group, value} in the order of `GROUPS`; groups without parts are omitted. */
export function sumGroups(parts) {
  return GROUPS.flatMap((group) => {
    const groupParts = parts.filter(({ writer }) => GROUPS_BY_WRITER[writer] === group);
    return groupParts.length ? [{ group, value: groupParts.reduce((sum, { value }) => sum + value, 0) }] : [];
  });
}

/** Share of the score that the named parts explain, which are the largest. */
export const namedShare = (parts, score) => parts.slice(0, MAX_NAMED).reduce((sum, { value }) => sum + value, 0) / score;

const percent = (share) => `${Math.round(100 * share)}%`.replace('-', '−');

/**
 * Rows of the table as {value, share}: the `count` largest parts and, last, the sum of the others, if there are any. They are
 * rounded so that the values add up to the score, and the shares to 1.
 */
export function roundRows(parts, score, count) {
  const listed = parts.slice(0, count).map(({ value }) => value);
  const remainder = score - listed.reduce((sum, value) => sum + value, 0);
  const values = count < parts.length ? [...listed, remainder] : listed;
  const shares = roundParts(values.map((value) => value / score));
  return roundParts(values).map((value, index) => ({ value, share: shares[index] }));
}

/** "what L8·H3 wrote" */
export function partName({ writer, kind, layer, head }, isInDecoder) {
  if (writer !== 'head') return t(`score_${writer}`, { layer: (layer ?? 0) + 1 });
  const headText = t('whatif_head', { layer: layer + 1, head: head + 1 });
  return t('score_head', { head: isInDecoder ? `${t(`kind_${kind}_short`)} ${headText}` : headText });
}

export class ScoreParts {
  /** @param {import('../core/server.js').Server} server */
  constructor(server) {
    this.server = server;
    this.side = 'key';
    this.listsAll = false; // whether the table lists every part
    this.sides = make('div', { class: 'segments', role: 'group' });
    this.sentence = make('p', { class: 'says' });
    this.bar = make('div', { class: 'score-bar', 'aria-hidden': 'true' });
    this.legend = make('p', { class: 'score-legend quiet' });
    this.table = make('table', { class: 'score-table' });
    this.moreButton = make('button', { type: 'button', class: 'link', onclick: () => this.toggleAll() });
    this.testButton = make('button', { type: 'button', class: 'link', onclick: () => this.measure() });
    this.measured = make('div', { class: 'measured', role: 'status' });
    this.error = make('p', { class: 'error', role: 'alert' });
    const links = make('div', { class: 'score-links' }, this.moreButton, this.testButton);
    this.content = make('div', {}, this.sentence, this.bar, this.legend, this.table, links, this.measured);
    this.element = make('section', { class: 'score-parts' }, this.sides, this.error, this.content);
    this.latest = new LatestRequest(this.content, this.error, 'why_failed');
    this.latestTest = new LatestRequest(this.measured, this.error, 'why_failed');
  }

  /**
   * Shows the parts of a cell.
   * @param {{
   *   translation: import('../core/translation.js').Translation, kind: import('../core/translation.js').Kind,
   *   layer: number, head: number, row: number, column: number,
   * }} cell
   */
  show(cell) {
    const { translation, kind, row, column } = cell;
    const { weights, columns } = translation.map(kind, cell.layer, cell.head);
    this.element.hidden = Number.isNaN(weights[row * columns + column]);
    if (this.element.hidden) return this.latest.cancel();
    const isSame = this.cell && Object.entries(cell).every(([name, value]) => this.cell[name] === value);
    if (!isSame) [this.answer, this.listsAll] = [null, false];
    this.cell = cell;
    this.drawSides();
    if (this.answer) this.draw(); // the language may have changed
    return this.load();
  }

  get isInDecoder() {
    const { kind } = this.cell;
    return kind === 'decoder' || (kind === 'cross' && this.side === 'query');
  }

  /** Arguments of the server's calls. */
  callValues() {
    const { translation, ...position } = this.cell;
    return { request: translation.requestValues(), ...position, side: this.side };
  }

  load() {
    if (!this.answer) {
      for (const element of [this.bar, this.legend, this.table, this.measured]) replace(element);
      for (const button of [this.moreButton, this.testButton]) button.hidden = true;
      this.sentence.textContent = t('score_loading');
    }
    const values = this.callValues();
    this.latest.load(
      JSON.stringify(values),
      (signal) => callWithRetry(this.server.explain_score, values, null, null, signal),
      (answer) => {
        this.answer = answer;
        this.draw();
      },
    );
  }

  toggleAll() {
    this.listsAll = !this.listsAll;
    this.draw();
  }

  /** Measures the weight without each of the named parts. */
  measure() {
    const values = this.callValues();
    this.measured.textContent = t('score_measuring');
    this.latestTest.load(
      JSON.stringify(values),
      (signal) => callWithRetry(this.server.measure_score, values, null, null, signal),
      (answer) => this.drawMeasured(answer),
    );
  }

  // ---------------------------------------------------------------- drawing

  drawSides() {
    this.sides.setAttribute('aria-label', t('score_sides'));
    const choose = (side) => {
      [this.side, this.answer, this.listsAll] = [side, null, false];
      this.drawSides();
      this.load();
    };
    const button = (side) =>
      make(
        'button',
        { type: 'button', 'aria-pressed': String(side === this.side), onclick: () => choose(side) },
        ...fillElements(t(`score_side_${side}`), { token: this.tokenName(side) }),
      );
    replace(this.sides, button('key'), button('query'));
  }

  /** The token whose vector is decomposed: the key, or the token from whose state the query is computed. */
  tokenName(side = this.side) {
    const { translation, kind, row, column } = this.cell;
    const token = side === 'key' ? translation.columns(kind)[column] : translation.previousToken(kind, row);
    return make('bdi', {}, token.label);
  }

  draw() {
    const { score, parts } = this.answer;
    this.latestTest.cancel();
    replace(this.measured);
    const showsShares = Math.abs(score) >= MIN_SCORE;
    replace(this.sentence, ...this.sentenceParts(showsShares));
    this.drawBar(showsShares);
    this.drawTable(showsShares);
    this.moreButton.hidden = parts.length <= MAX_LISTED;
    this.moreButton.textContent = t(this.listsAll ? 'score_fewer' : 'score_all', { count: parts.length });
    this.testButton.hidden = false;
    this.testButton.textContent = t('score_test', { count: MAX_NAMED });
  }

  sentenceParts(showsShares) {
    const { score, parts } = this.answer;
    const key = make('b', {}, this.tokenName('key'));
    const values = { score: formatSigned(Math.abs(score), 2) };
    const beginning = fillElements(t(score < 0 ? 'score_below' : 'score_above', values), { key });
    if (!showsShares) return beginning;
    const namedParts = parts.slice(0, MAX_NAMED);
    const totalShare = namedShare(parts, score);
    const isReason = totalShare >= MIN_EXPLAINING_SHARE && totalShare <= 2 - MIN_EXPLAINING_SHARE;
    const rows = roundRows(parts, score, this.listedCount()).slice(0, namedParts.length);
    const sharesAndNames = isReason
      ? namedParts.map((part, index) => [rows[index].share, partName(part, this.isInDecoder)])
      : this.groupShares()
          .sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
          .map(({ share, group }) => [share, t(`score_group_${group}`)]);
    const list = sharesAndNames.map(([share, name]) => t('score_share', { share: percent(share), name })).join(t('list_comma'));
    const conclusion = t(isReason ? 'score_explain' : 'score_explain_little', {
      named: MAX_NAMED,
      count: parts.length,
      share: percent(rows.reduce((all, row) => all + row.share, 0)), // sum of the displayed shares
    });
    return [...beginning, t('score_list', { list }), ' ', make('b', {}, conclusion)];
  }

  /** Number of parts with a row. */
  listedCount() {
    return this.listsAll ? this.answer.parts.length : MAX_LISTED;
  }

  /** Sums per group as {group, value, share}; the shares of the score add up to 1. */
  groupShares() {
    const { score, parts } = this.answer;
    const groups = sumGroups(parts);
    const shares = roundParts(groups.map(({ value }) => value / score));
    return groups.map((group, index) => ({ ...group, share: shares[index] }));
  }

  drawBar(showsShares) {
    const groups = this.groupShares();
    const total = groups.reduce((all, { value }) => all + Math.abs(value), 0) || 1;
    const { score } = this.answer;
    const side = (value) => (value * score < 0 ? ' against' : '');
    replace(
      this.bar,
      ...groups.map(({ group, value }) => make('i', { class: group + side(value), style: `width:${(100 * Math.abs(value)) / total}%` })),
    );
    const label = ({ group, value, share }) =>
      make(
        'span',
        {},
        make('i', { class: group + side(value) }),
        `${t(`score_group_${group}`)} ${showsShares ? percent(share) : formatSigned(value, 2)}`,
      );
    replace(this.legend, ...groups.map(label));
  }

  drawTable(showsShares) {
    const { score, parts } = this.answer;
    const maxValue = Math.max(...parts.map(({ value }) => Math.abs(value)), 1e-9);
    const listedParts = parts.slice(0, this.listedCount());
    const otherCount = parts.length - listedParts.length;
    const roundedRows = roundRows(parts, score, listedParts.length);
    const makeRow = (name, { value, share }, bar, className = '') =>
      make(
        'tr',
        { class: className },
        make('th', { scope: 'row' }, name),
        make('td', { class: 'track' }, bar),
        make('td', { class: 'numeric' }, formatEffect(value)),
        make('td', { class: 'numeric' }, showsShares ? percent(share) : ''),
      );
    const rows = listedParts.map((part, index) => makeRow(this.partNodes(part), roundedRows[index], makeBar(part.value, maxValue)));
    if (otherCount) rows.push(makeRow(t('score_others', { count: otherCount }), roundedRows[listedParts.length], null, 'quiet'));
    const totalRow = makeRow(t('score_total'), { value: score, share: 1 }, null);
    this.table.setAttribute('aria-label', t('score_parts'));
    replace(this.table, make('tbody', {}, ...rows), make('tfoot', {}, totalRow));
  }

  /** The name of a part. The name of a head expands to the words that the head read, with their shares of its value. */
  partNodes(part) {
    const name = partName(part, this.isInDecoder);
    if (!part.reads.length) return name;
    const { translation } = this.cell;
    const tokenName = (index) => make('bdi', {}, translation.columns(part.kind)[index].label);
    const number = (value) => make('span', { class: 'numeric' }, formatEffect(value));
    const items = part.reads.map(([tokenIndex, value]) => make('li', {}, tokenName(tokenIndex), ' ', number(value)));
    const remainder = part.value - part.reads.reduce((sum, [, value]) => sum + value, 0);
    if (Math.abs(remainder) >= MIN_REMAINDER) items.push(make('li', { class: 'quiet' }, t('score_reads_others'), ' ', number(remainder)));
    return make('details', {}, make('summary', {}, name), make('p', { class: 'quiet' }, t('score_reads')), make('ul', {}, ...items));
  }

  drawMeasured({ weight, parts }) {
    const text = (part) => t('score_without', { part: partName(part, this.isInDecoder), weight: threeDecimals(part.without) });
    replace(
      this.measured,
      make('p', {}, t('score_with_all', { weight: threeDecimals(weight) })),
      make('ul', {}, ...parts.map((part) => make('li', {}, text(part)))),
      make('p', { class: 'quiet' }, t('score_measured_note')),
    );
  }
}

/** A bar to the left or right of zero, in the middle. */
function makeBar(value, maxValue) {
  const width = (50 * Math.abs(value)) / maxValue;
  return make('i', { class: value < 0 ? 'against' : 'for', style: `left:${value < 0 ? 50 - width : 50}%;width:${width}%` });
}
