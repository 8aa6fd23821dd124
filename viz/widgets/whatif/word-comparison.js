// The original translation word by word: each word's probability before and after the interventions, as bars.

import { make, replace } from '../core/dom.js';
import { formatSigned, signed, twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { factorText } from './changed-sentence.js';
import { changesLabel } from './interventions.js';

const MIN_HIGHLIGHTED_CHANGE = 0.1; // nats
const MAX_EQUAL_CHANGE = 0.005; // nats; smaller changes are shown as equally likely
const MIN_PROBABILITY = 1e-45; // the smallest positive float32, instead of a zero whose logarithm is infinite

export class WordComparison {
  constructor() {
    this.title = make('h2', {});
    this.caption = make('p', { class: 'quiet' });
    this.words = make('div', { class: 'board', role: 'list' });
    this.axis = make('div', { class: 'axis numeric', 'aria-hidden': 'true' });
    this.element = make('section', { class: 'answer', 'aria-live': 'polite' }, this.caption, this.words, this.axis);
    this.changeInNats = make('b', { class: 'sum numeric' });
    this.factor = make('span', {});
    this.likelihoods = make('div', { class: 'likelihoods' });
    this.outcome = make('p', { class: 'quiet numeric' });
    this.total = make(
      'section',
      { class: 'total', 'aria-live': 'polite' },
      this.likelihoods,
      make('p', {}, this.changeInNats, ' ', this.factor),
      this.outcome,
    );
  }

  /** Shows the pending interventions while the model computes. */
  showPending(changes, translation) {
    this.outcome.textContent = changes.length ? changesLabel(changes, translation.source_text) : '';
  }

  /** Draws the server's result, or the unchanged translation if `result` is null. */
  draw(result, translation, { changes, isRejected }) {
    this.title.textContent = t('whatif_board');
    for (const part of [this.element, this.total]) part.classList.toggle('unchanged', !result);
    // A swap changes the source, so the probability of the original translation is not comparable.
    const hasSwap = changes.some(({ action }) => action === 'swap');
    const words = result?.words ?? unchangedWords(translation);
    this.caption.textContent = t(hasSwap ? 'whatif_other_sentence' : result ? 'whatif_board_old' : 'whatif_board_says');
    this.drawTotal(result, translation, hasSwap);
    this.outcome.textContent = result ? outcomeText(words, result.chrf, translation) : isRejected ? '' : t('whatif_nothing');
    if (isRejected)
      replace(this.words); // invalid interventions have no output
    else replace(this.words, makeLegend(Boolean(result)), ...makeRows(words, translation, Boolean(result)));
    replace(this.axis, ...['0', t('whatif_probability'), '1'].map((text) => make('span', {}, text)));
  }

  /** Draws the log probability of the original translation without and with the interventions. */
  drawTotal(result, translation, hasSwap) {
    const before = result?.before ?? translation.log_probability;
    const after = result && !hasSwap ? result.after : null; // null: not comparable
    const maxValue = Math.max(1e-9, ...[before, after ?? 0].map(Math.abs));
    const bar = (name, value, className) =>
      make(
        'div',
        { class: 'bar' },
        make('span', {}, t(name)),
        make(
          'span',
          { class: 'track' },
          make('i', { class: className, style: `width:${((100 * Math.abs(value)) / maxValue).toFixed(1)}%` }),
        ),
        make('span', { class: 'numeric' }, formatSigned(value, 2)),
      );
    const title = make('span', { class: 'quiet' }, t(result ? 'whatif_log_old' : 'whatif_log'));
    const bars = [bar(result ? 'whatif_before' : 'whatif_as_is', before, 'was'), after === null ? null : bar('whatif_now', after, 'now')];
    replace(this.likelihoods, title, ...bars.filter(Boolean));
    this.changeInNats.textContent = after === null ? '' : signed(after - before, 2);
    this.factor.textContent = after === null ? '' : changeText(after - before);
  }
}

/** `change`: of the log probability, in nats. */
function changeText(change) {
  const key = Math.abs(change) < MAX_EQUAL_CHANGE ? 'whatif_as_likely' : change < 0 ? 'whatif_less_likely' : 'whatif_more_likely';
  return t(key, { times: factorText(change) });
}

/** Text with the number of changed words, without punctuation and `</s>`, and the chrF of the new translation. */
function outcomeText(words, chrf, { target }) {
  if (words.every((word) => word.before === word.after)) return t('whatif_writes_same');
  const isSpecial = ({ places }) => places?.every((position) => target[position].special);
  const lexical = words.filter((word) => !isSpecial(word) && /[\p{L}\p{N}]/u.test(`${word.before ?? ''}${word.after ?? ''}`));
  const changed = lexical.filter((word) => word.before !== word.after).length;
  return t('whatif_writes', { changed, all: lexical.length, chrf: chrf.toFixed(1) });
}

/** The words of a translation in the format of a result, equal before and after. */
function unchangedWords({ target, text }) {
  const words = [];
  for (const token of target) {
    const previous = words.at(-1);
    const log = Math.log(Math.max(token.probability ?? 1, MIN_PROBABILITY));
    if (previous && !token.special && token.word !== null && token.word === previous.word) {
      previous.log_before = previous.log_after = previous.log_before + log;
      previous.before = previous.after = text.slice(previous.start, token.end).trim();
    } else {
      const wordText = token.special ? token.label : text.slice(token.start, token.end).trim();
      words.push({
        before: wordText,
        after: wordText,
        log_before: log,
        log_after: log,
        word: token.special ? null : token.word,
        start: token.start,
      });
    }
  }
  return words;
}

/** `isChanged`: whether the rows also have values under the interventions. */
function makeLegend(isChanged) {
  const key = (className, name) => make('span', { class: 'key' }, make('i', { class: className }), t(name));
  return make(
    'div',
    { class: 'legend-row', 'aria-hidden': 'true' },
    make('span', { class: 'name' }, t('whatif_row')),
    make('span', { class: 'legend-keys' }, ...(isChanged ? [key('was', 'whatif_before'), key('now', 'whatif_now')] : [])),
    ...(isChanged ? ['whatif_before', 'whatif_now'].map((name) => make('span', {}, t(name))) : []),
  );
}

/** One row per word of the original, labelled with the word and the previous one, which the decoder reads. */
function makeRows(words, translation, isChanged) {
  const originalWords = words.filter(({ before }) => before !== null);
  const startLabel = translation.previousToken('cross', 0).label;
  return originalWords.map((word, index) => makeRow(word, index ? originalWords[index - 1].before : startLabel, isChanged));
}

function makeRow({ before, after, log_before: logBefore, log_after: logAfter }, previousWord, isChanged) {
  const bar = (log, className) => make('i', { class: className, style: `width:${(100 * Math.exp(log)).toFixed(1)}%` });
  const values = { word: before, before: twoDecimals(Math.exp(logBefore)), after: twoDecimals(Math.exp(logAfter)), now: after ?? '–' };
  const label = isChanged ? t('whatif_word', values) : t('whatif_word_before', values);
  const isLess = isChanged && logAfter < logBefore - MIN_HIGHLIGHTED_CHANGE;
  return make(
    'div',
    { class: isLess ? 'word less' : 'word', role: 'listitem', 'aria-label': label, title: label },
    make('span', { class: 'name' }, make('span', { class: 'read' }, previousWord, ' → '), make('bdi', {}, before)),
    make('span', { class: 'track' }, bar(logBefore, 'was'), isChanged ? bar(logAfter, 'now') : null),
    make('span', { class: 'numeric' }, values.before),
    make('span', { class: 'numeric now' }, isChanged ? values.after : ''),
  );
}
