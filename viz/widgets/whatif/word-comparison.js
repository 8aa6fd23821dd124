// The original translation word by word: each word's probability before and after the interventions, and the new
// output.

import { make, replace } from '../core/dom.js';
import { formatSigned, signed, twoDecimals } from '../core/map-view.js';
import { t } from '../core/i18n.js';
import { factorText } from './changed-sentence.js';
import { changesSay } from './interventions.js';

const MAX_BAR_HEIGHT = 44; // pixels of a bar for probability 1
const LABELLED_WORDS = 4; // number of words labelled with their difference
const MIN_DIFFERENCE = 0.05; // nats: hide smaller differences

export class WordComparison {
  constructor() {
    this.sum = make('b', { class: 'sum numeric' });
    this.description = make('p', { class: 'numeric' });
    this.alike = make('p', { class: 'quiet numeric' });
    this.words = make('div', { class: 'board', role: 'list' });
    this.element = make(
      'section',
      { class: 'answer', 'aria-live': 'polite' },
      make('div', { class: 'total' }, this.sum, this.description, this.alike),
      this.words,
    );
  }

  /** Pending state while the model computes. */
  wait(changes, translation) {
    this.alike.textContent = changes.length ? changesSay(changes, translation.source_text) : '';
  }

  /** Draw the server's result; without a result, draw the unchanged translation. */
  draw(result, translation, { changes, refused }) {
    this.element.classList.toggle('unchanged', !result);
    const words = result?.words ?? plain(translation);
    const [before, after] = result ? [result.before, result.after] : [translation.log_probability, translation.log_probability];
    const loss = after - before;
    // The original translation is wrong for a swapped sentence, so hide its probability.
    const other = changes.some(({ action }) => action === 'swap');
    this.sum.textContent = result ? (other ? '' : signed(loss, 2)) : formatSigned(before, 2);
    this.description.textContent = result ? (other ? t('whatif_other_sentence') : this.lossSays(before, after, loss)) : t('whatif_log');
    this.alike.textContent = result ? outcomeText(words, result.chrf, translation) : refused ? '' : t('whatif_nothing');
    const worst = result ? largestChanges(words) : new Set();
    if (refused)
      replace(this.words); // invalid interventions have no output
    else replace(this.words, rowNames(), ...words.map((word) => wordColumn(word, worst.has(word), Boolean(result))));
  }

  lossSays(before, after, loss) {
    const times = factorText(loss);
    const key = Math.abs(loss) < 0.005 ? 'whatif_as_likely' : loss < 0 ? 'whatif_less_likely' : 'whatif_more_likely';
    return t(key, { before: formatSigned(before, 2), after: formatSigned(after, 2), times });
  }
}

/** Number of changed words, without punctuation and `</s>`. */
function outcomeText(words, chrf, { target }) {
  if (words.every((word) => word.before === word.after)) return t('whatif_writes_same');
  const special = ({ places }) => places?.every((place) => target[place].special);
  const real = words.filter((word) => !special(word) && /[\p{L}\p{N}]/u.test(`${word.before ?? ''}${word.after ?? ''}`));
  const changed = real.filter((word) => word.before !== word.after).length;
  return t('whatif_writes', { changed, all: real.length, chrf: chrf.toFixed(1) });
}

/** The words of an unchanged translation. */
function plain({ target, text }) {
  const words = [];
  for (const token of target) {
    const last = words.at(-1);
    const log = Math.log(Math.max(token.probability ?? 1, 1e-45));
    if (last && !token.special && token.word !== null && token.word === last.word) {
      last.log_before = last.log_after = last.log_before + log;
      last.before = last.after = text.slice(last.start, token.end).trim();
    } else {
      const read = token.special ? token.label : text.slice(token.start, token.end).trim();
      words.push({
        before: read,
        after: read,
        log_before: log,
        log_after: log,
        word: token.special ? null : token.word,
        start: token.start,
      });
    }
  }
  return words;
}

function largestChanges(words) {
  const differs = (word) => Math.abs(word.log_after - word.log_before);
  const known = words.filter((word) => word.before !== null && differs(word) >= MIN_DIFFERENCE);
  return new Set(known.sort((one, other) => differs(other) - differs(one)).slice(0, LABELLED_WORDS));
}

function rowNames() {
  const names = ['whatif_as_is', 'whatif_probability', 'whatif_changed'].map((key) => make('span', {}, t(key)));
  return make('div', { class: 'names', 'aria-hidden': 'true' }, ...names);
}

/** Column of a word: removed words are struck through, new words are orange. */
function wordColumn(word, hasDifference, changed) {
  const { before, after, log_before: was, log_after: now } = word;
  const stays = before === after;
  const bar = (log, name) => make('i', { class: name, style: `height:${Math.max(1, Math.exp(log) * MAX_BAR_HEIGHT).toFixed(1)}px` });
  const difference = hasDifference ? make('span', { class: 'difference numeric' }, signed(now - was, 2)) : null;
  const bars = make(
    'span',
    { class: 'bars' },
    difference,
    ...(before === null ? [] : [bar(was, 'was'), changed ? bar(now, 'now') : null].filter(Boolean)),
  );
  const reads =
    before === null
      ? t('whatif_word_new', { word: after })
      : t('whatif_word', { word: before, before: twoDecimals(Math.exp(was)), after: twoDecimals(Math.exp(now)), now: after ?? '–' });
  const about = { class: 'word', role: 'listitem', 'aria-label': reads, title: reads };
  return make(
    'div',
    about,
    make('span', { class: stays || !changed ? '' : 'gone' }, before ?? '·'),
    bars,
    make('span', { class: stays || !changed ? '' : 'new' }, after ?? '–'),
  );
}
